"""Files that the user names: found, digested and read line by line, with errors that help."""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import os
import socket
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import urlsplit

from embinit.errors import InputError

CHUNK = 1 << 20
PROGRESS_SECONDS = 5.0

T = TypeVar("T")


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
    with _open(path, lambda: f":{number + 1}") as stream:
        for line in stream:
            number += 1
            yield line.rstrip(b"\r\n")


def open_chunks(path: Path) -> Iterator[bytes]:
    """The content of a plain, .gz or .zip file in pieces of at most ``CHUNK`` bytes.

    InputError for a broken archive, naming the byte up to which it could be read.
    """
    place = 0
    with _open(path, lambda: f", byte {place}") as stream:
        while chunk := stream.read(CHUNK):
            place += len(chunk)
            yield chunk


def told(path: Path, items: Iterable[T], noun: str) -> Iterator[T]:
    """``items``, with a line on the terminal now and then while a large file is read."""
    last = time.monotonic()
    for number, item in enumerate(items, 1):
        if number % 10_000 == 0 and time.monotonic() - last > PROGRESS_SECONDS:
            last = time.monotonic()
            if sys.stderr.isatty():
                print(f"embinit: {path.name}: {number:,} {noun} read", file=sys.stderr)
        yield item


@contextlib.contextmanager
def _open(path: Path, where: Callable[[], str]) -> Iterator[gzip.GzipFile | IO[bytes]]:
    """The unpacked content; what goes wrong while it is read is an InputError with the place."""
    try:
        with contextlib.ExitStack() as stack:
            if path.suffix == ".gz":
                yield stack.enter_context(gzip.open(path, "rb"))
            elif path.suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(path))
                names = [name for name in archive.namelist() if not name.endswith("/")]
                if len(names) != 1:
                    raise InputError(f"{path} must hold one file, not {len(names)}; unpack it")
                yield stack.enter_context(archive.open(names[0]))
            else:
                yield stack.enter_context(path.open("rb"))
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}{where()}: the archive is broken or cut short ({error}); fetch it again"
        ) from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write beside ``path`` and rename there, so that no half-written file is ever seen."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            # A temporary file is its owner's alone; what takes its name is for others to read.
            os.fchmod(handle, 0o644)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


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
