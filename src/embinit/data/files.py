"""Reading and writing files: look-up, digests, archives read line by line, atomic writes.

Whatever is wrong with a file that the user named is an InputError with the file and the line.
"""

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
    """The first of ``candidates`` that exists under the data directory.

    Args:
        data_dir: The data directory; None if none was named.
        *candidates: Paths below it, the usual one first.
        what: What the file holds, for the error's message.

    Raises:
        InputError: There is no data directory, or none of the candidates is in it.
    """
    if data_dir is None:
        raise InputError(
            f"{what} needs a data directory: name it with --embinit-data-dir or EMBINIT_DATA and "
            f"put {candidates[0]} there"
        )
    for candidate in candidates:
        if (data_dir / candidate).exists():
            return data_dir / candidate
    raise InputError(
        f"{what} is missing: put {' or '.join(candidates)} into {data_dir}, or name another "
        "directory with --embinit-data-dir or EMBINIT_DATA"
    )


def digest(path: Path) -> str:
    """The hex SHA-256 of a file's content.

    It is kept for the process while the file's size and time of change stay the same.
    """
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_lines(path: Path) -> Iterator[bytes]:
    """Reads the lines of a plain, .gz or .zip file, without their ends, in constant memory.

    Raises:
        InputError: The archive is broken. The message has the line up to which it could be read.
    """
    number = 0
    with _open(path, lambda: f":{number + 1}") as stream:
        for line in stream:
            number += 1
            yield line.rstrip(b"\r\n")


def open_chunks(path: Path) -> Iterator[bytes]:
    """Reads a plain, .gz or .zip file in chunks of at most ``CHUNK`` bytes.

    Raises:
        InputError: The archive is broken. The message has the byte up to which it could be read.
    """
    offset = 0
    with _open(path, lambda: f", byte {offset}") as stream:
        while chunk := stream.read(CHUNK):
            offset += len(chunk)
            yield chunk


def with_progress(path: Path, items: Iterable[T], noun: str) -> Iterator[T]:
    """Passes ``items`` on, and prints a line on the terminal every few seconds.

    Args:
        path: The file that is read.
        items: What is read from it.
        noun: What an item is, in the plural.
    """
    last = time.monotonic()
    for number, item in enumerate(items, 1):
        if number % 10_000 == 0 and time.monotonic() - last > PROGRESS_SECONDS:
            last = time.monotonic()
            if sys.stderr.isatty():
                print(f"embinit: {path.name}: {number:,} {noun} read", file=sys.stderr)
        yield item


@contextlib.contextmanager
def _open(path: Path, position: Callable[[], str]) -> Iterator[gzip.GzipFile | IO[bytes]]:
    """The unpacked content. An error while it is read is an InputError with the position."""
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
            f"{path}{position()}: the archive is broken or cut short ({error}); fetch it again"
        ) from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes a temporary file and renames it to ``path``: no half-written file is ever seen.

    Raises:
        OSError: The file could not be written. ``path`` is as it was before.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            # Only its owner may read a temporary file. The renamed file is for others as well.
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
    """Whether the Hugging Face Hub's name resolves, or a proxy is set.

    The Hub's own client tries each file for half a minute before it gives up, so this is asked
    first, once a process.
    """
    if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return True
    from huggingface_hub.constants import ENDPOINT

    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
