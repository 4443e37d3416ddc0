"""Files that the user names: found, digested and read line by line, with errors that help."""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import os
import socket
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from embinit.errors import InputError

CHUNK = 1 << 20


def find(data_dir: Path | None, *candidates: str, what: str) -> Path:
    """The first of ``candidates`` that exists under the data directory; else InputError."""
    if data_dir is None:
        raise InputError(
            f"{what} needs a data directory: name it with --data-dir or EMBINIT_DATA and put "
            f"{candidates[0]} there"
        )
    for candidate in candidates:
        if (data_dir / candidate).exists():
            return data_dir / candidate
    raise InputError(
        f"{what} is missing: put {' or '.join(candidates)} into {data_dir}, or name another "
        "directory with --data-dir or EMBINIT_DATA"
    )


def digest(path: Path) -> str:
    """Hex SHA-256 of the file's content, kept for the process while the file stays unchanged."""
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_lines(path: Path) -> Iterator[bytes]:
    """The lines of a plain, .gz or .zip file, without their ends, in constant memory.

    InputError for a broken archive, naming the line up to which it could be read.
    """
    number = 0
    try:
        with _open(path) as stream:
            for line in stream:
                number += 1
                yield line.rstrip(b"\r\n")
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}:{number + 1}: the archive is broken or cut short ({error}); fetch it again"
        ) from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error


@contextlib.contextmanager
def _open(path: Path) -> Iterator[Iterable[bytes]]:
    if path.suffix == ".gz":
        with gzip.open(path, "rb") as stream:
            yield stream
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise InputError(f"{path} must hold one file, not {len(names)}; unpack it")
            with archive.open(names[0]) as member:
                yield member
    else:
        with path.open("rb") as file:
            yield file


@functools.cache
def hub_reachable() -> bool:
    """Whether the Hugging Face Hub's name resolves (or a proxy stands for it).

    Asked once a process: the Hub's own client tries each file for half a minute before it gives up.
    """
    if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return True
    from huggingface_hub.constants import ENDPOINT

    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
