"""Reading and writing files: look-up, digests, archives read line by line, atomic writes.

Whatever is wrong with a file that the user named is an InputError with the file and the line.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import functools
import gzip
import hashlib
import io
import os
import socket
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from os import fsync
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from embinit.errors import InputError, OutputError
from embinit.files.reading import MOST_LINE_BYTES, reading, regular

CHUNK = 1 << 20


def find(data_dir: Path | None, *candidates: str, what: str) -> Path:
    """The first of ``candidates`` (the usual one first) in the data directory; InputError for none.

    ``what`` is in the file, for the error.
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
    """The hex SHA-256 of a file, kept while size and time stay; InputError if it can't be read."""
    status = regular(path).stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, size: int, modified: int) -> str:
    with reading(path, "give it to this user to read"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_lines(path: Path) -> Iterator[bytes]:
    """Reads the lines of a plain, .gz or .zip file, without their ends, in constant memory.

    A byte order mark at the beginning is left out. InputError, with the line, if the archive is
    broken or a line longer than ``MOST_LINE_BYTES``.
    """
    number = 0
    with _open(path, lambda: f":{number + 1}") as stream:
        while line := stream.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                raise InputError(
                    f"{path}:{number}: the line is longer than {MOST_LINE_BYTES:,} bytes; "
                    "the file has lost its line ends, or is no text: fetch it again"
                )
            yield (line if number > 1 else line.removeprefix(codecs.BOM_UTF8)).rstrip(b"\r\n")


def open_chunks(path: Path) -> Iterator[bytes]:
    """Reads a plain, .gz or .zip file in chunks of at most ``CHUNK`` bytes.

    InputError, with the byte, if the archive is broken.
    """
    offset = 0
    with _open(path, lambda: f", byte {offset}") as stream:
        while chunk := stream.read(CHUNK):
            offset += len(chunk)
            yield chunk


@contextlib.contextmanager
def _open(path: Path, position: Callable[[], str]) -> Iterator[IO[bytes]]:
    """The unpacked content. An error while it is read is an InputError with the position."""
    regular(path)
    with contextlib.ExitStack() as stack, reading(path, "fetch it again", position):
        if path.suffix == ".gz":
            # One buffer around both kinds of archives: their own look for a line's end in Python.
            yield _buffered(stack.enter_context(gzip.open(path, "rb")))
        elif path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise InputError(f"{path} must hold one file, not {len(names)}; unpack it")
            member = archive.getinfo(names[0])
            if member.flag_bits & 1:
                raise InputError(f"{path}:1: the archive asks for a password; unpack it")
            yield _buffered(stack.enter_context(archive.open(member)))
        else:
            yield stack.enter_context(path.open("rb"))


def _buffered(stream: Any) -> IO[bytes]:
    return io.BufferedReader(stream, CHUNK)


def write_atomically(path: Path, content: str | bytes, durable: bool = True) -> None:
    """Writes a temporary file and renames it to ``path``: no half-written file is ever seen.

    ``durable`` content is on the disk before the rename, so that a loss of power leaves no empty
    file. After an OSError ``path`` is as it was before.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            # Only its owner may read a temporary file. The renamed file is for others as well.
            os.fchmod(handle, 0o644)
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            if durable:
                fsync(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def writing(what: str, mend: str) -> Iterator[None]:
    """Turns an OSError into the OutputError that ``what`` can't be written, with its mend."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{what} can't be written ({error.strerror or error}){mend}") from error


def make_ignored(folder: Path) -> None:
    """Makes a folder that git ignores, as pytest's cache; one that exists stays as it is."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / ".gitignore", "# Made by embinit.\n*\n", durable=False)


@contextlib.contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keeps other processes out of a directory that they hold too, and leaves no file there.

    Where the file system has no locks, it is held by nobody: each file is still written whole.
    """
    handle = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@functools.cache
def hub_reachable() -> bool:
    """Whether the Hugging Face Hub's name resolves, or a proxy is set; asked once a process.

    The Hub's own client tries each file for half a minute before it gives up.
    """
    if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return True
    from huggingface_hub.constants import ENDPOINT

    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
