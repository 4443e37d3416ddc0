"""What a process reads, noted by an audit hook: hooks can't be removed, so only in a trainer."""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from embinit.code import digest_of, imports_in, is_own_file
from embinit.runs.trainers.inputs import (
    LIBRARY,
    NO_FILE,
    code_digest,
    digest_of_file,
    digest_of_names,
    place_of,
    project_of,
    state_of,
)

SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/lib", "/usr/share/zoneinfo/", "/lib/")
"""Folders of the operating system, whose files are no data."""

HARMLESS = frozenset({
    "lscpu", "ldconfig", "uname", "gcc", "cc", "c++", "g++", "ld", "file", "nvidia-smi",
    "rocm-smi", "getconf", "sysctl", "git", "which", "objdump", "ptxas", "nvcc",
})  # fmt: skip
"""Programs by which libraries look at the machine."""

NATIVE = frozenset({
    "pyarrow", "polars", "lxml", "cv2", "fasttext", "duckdb", "lmdb", "rasterio", "netCDF4",
    "tables", "fastparquet", "xgboost", "lightgbm", "sentencepiece", "tokenizers", "decord",
    "tensorstore", "torchaudio", "soundfile", "osgeo", "fiona", "zarr", "kaldiio",
})  # fmt: skip
"""Libraries that open files by themselves, unseen, where the project imports them."""

READERS = frozenset({"h5py", "netCDF4", "tensorflow"}) | {
    f"pyarrow.{part}" for part in ("parquet", "dataset", "csv", "feather", "orc", "json")
}
"""Modules that do so whoever imports them."""

_READS, _WRITES = os.O_RDONLY, os.O_WRONLY | os.O_TRUNC
COMPILED: dict[str, tuple[tuple[str, int, int], ...]] = {
    "safetensors": (("safe_open", 0, _READS), ("serialize_file", 1, _WRITES)),
    "torch": (("from_file", 0, _READS), ("save", 1, _WRITES)),
    "torch.jit._serialization": (("load", 0, _READS),),
    "torch.export": (("load", 0, _READS),),
    "torchvision.io.image": (("read_file", 0, _READS),),
}
"""Functions of modules that open files by compiled code, with the place of the path."""

STARTERS = frozenset({
    "multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver",
    "joblib.externals.loky.backend.popen_loky_posix", "loky.backend.popen_loky_posix",
})  # fmt: skip
"""Modules that are imported when a process is started, without an event."""

_WRAPPERS = ("/subprocess.py", "/os.py", "/ctypes/__init__.py")
_CODE_SUFFIXES = (".py", ".pyc", *importlib.machinery.EXTENSION_SUFFIXES)


class Tracer:
    """What this process has read since ``start``, for a function's module ``home``.

    ``loaded`` is called with each module that is loaded.
    """

    def __init__(self, home: tuple[str, str], loaded: Callable[[types.ModuleType], None]) -> None:
        self.home, self.loaded = home, loaded
        self.active = True
        self.untraced: dict[str, None] = {}
        self._project = str(project_of(home)) + "/"
        self._directory = ""
        self._files: dict[str, str | None] = {}  # by digest
        self._asked: dict[str, str | None] = {}  # by state
        self._folders: dict[str, str | None] = {}  # by the digest of their list
        self._products: set[str] = set()
        self._missing: set[str] = set()  # products that were asked for before they were made
        self._modules: dict[str, tuple[str, str]] = {}  # by the digests of content and code
        self._imports: set[str] = set()  # what the project's modules import, at the top
        self._names: set[str] = set()  # of modules that the project has asked for
        self._variables: set[str] = set()
        self._local = threading.local()  # "busy" within a hook, whose own reading is not noted

    def start(self) -> None:
        """Begins to note, for as long as the process lives."""
        handlers: dict[str, Callable[..., None]] = {
            "open": self._open,
            "import": self._import,
            "os.listdir": self._list,
            "os.scandir": self._list,
            "os.mkdir": self._make,
            "os.rename": self._rename,
            "sqlite3.connect": lambda path: self._mark("opens a database"),
            "ctypes.dlopen": self._link,
            "subprocess.Popen": self._run,
            "os.posix_spawn": self._run,
            "os.exec": self._run,
            "os.system": self._run,
            "os.fork": lambda: self._mark("forks a process"),
            "os.forkpty": lambda: self._mark("forks a process"),
            "socket.connect": lambda socket, address: self._mark("uses the network"),
        }

        def hook(event: str, args: tuple[Any, ...]) -> None:
            handler = handlers.get(event)
            if handler is None or not self._sees:
                return
            with self._unseen():
                try:
                    handler(*args)
                except Exception as error:  # an error of a hook would be the function's
                    self._mark(f"does what can't be followed ({event}: {error})")

        self._watch_imports()
        self._watch_environment()
        for name in ("stat", "lstat", "access", "readlink", "open"):
            self._watch(name)
        sys.addaudithook(hook)

    @property
    def _sees(self) -> bool:
        """Whether what this thread reads is noted now."""
        return self.active and not getattr(self._local, "busy", False)

    @contextlib.contextmanager
    def _unseen(self) -> Iterator[None]:
        """A context in which nothing is noted of what this thread reads."""
        busy, self._local.busy = getattr(self._local, "busy", False), True
        try:
            yield
        finally:
            self._local.busy = busy

    def _mark(self, what: str) -> None:
        self.untraced[what] = None

    # Files and folders

    def _name(self, path: Any) -> str | None:
        """The absolute path of what is read; None for what is no data."""
        if path is None or isinstance(path, int):
            return None
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(SYSTEM) and not name.startswith("/dev/shm/"):
            return None
        code = name.endswith(_CODE_SUFFIXES) and "importlib" in _caller().f_code.co_filename
        if code or not is_own_file(name):
            return None
        if not os.path.isabs(os.fsdecode(path)):
            self._directory = os.getcwd()
        return name

    def _open(self, path: Any, mode: str | None, flags: int) -> None:
        name = self._name(path)
        if name is None:
            return
        writes = flags & os.O_ACCMODE
        makes = flags & os.O_TRUNC or (flags & os.O_CREAT and not os.path.lexists(name))
        if writes and makes and self._files.get(name) is None:
            self._create(name)
        elif writes != os.O_WRONLY and (name in self._missing or not self._is_product(name)):
            self._read(name)
        if writes and self._files.get(name) is not None:
            self._mark(f"changes {os.path.basename(name)}, which it reads")

    def _read(self, name: str) -> None:
        digest = digest_of_file(name)
        if digest == NO_FILE:
            if not os.path.isdir(name):
                self._mark(f"reads a pipe or a device ({os.path.basename(name)})")
        elif self._files.setdefault(name, digest) != digest:
            self._mark(f"reads {os.path.basename(name)}, which was changed while it was read")

    def _create(self, name: str) -> None:
        self._products.add(name)
        if None in (self._files.pop(name, ""), self._asked.pop(name, "")):  # as caches are made
            self._missing.add(name)

    def _is_product(self, name: str) -> bool:
        while name not in self._products:
            name, last = os.path.split(name)
            if not last:
                return False
        return True

    def _list(self, path: Any = None) -> None:
        if isinstance(path, int) or "importlib" in _caller().f_code.co_filename:
            return
        name = self._name("." if path is None else path)
        if name is not None and name not in self._folders and not self._is_product(name):
            self._folders[name] = digest_of_names(name)

    def _make(self, path: Any, *rest: Any) -> None:
        name = os.path.abspath(os.fsdecode(path))
        if not os.path.lexists(name):
            self._create(name)

    def _rename(self, before: Any, after: Any, *rest: Any) -> None:
        if self._is_product(os.path.abspath(os.fsdecode(before))):
            self._create(os.path.abspath(os.fsdecode(after)))

    def _watch(self, name: str) -> None:
        """Notes which files are asked for: that raises no event, and one that appears may decide.

        What is opened within a folder's descriptor has an event that leaves out the folder.
        """
        original = getattr(os, name)

        def watched(path: Any, *args: Any, **named: Any) -> Any:
            if not self._sees:
                return original(path, *args, **named)
            caller = sys._getframe(1)
            if named.get("dir_fd") is None:
                if name != "open":
                    self._ask(path, caller)
                return original(path, *args, **named)
            if not caller.f_code.co_filename.endswith("/shutil.py"):  # which removes folders
                self._mark("reads by a folder's descriptor")
            with self._unseen():
                return original(path, *args, **named)

        for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in group:
                group.add(watched)
        setattr(os, name, watched)

    def _ask(self, path: Any, caller: types.FrameType) -> None:
        with self._unseen(), contextlib.suppress(OSError, TypeError, ValueError):
            code = os.fsdecode(path).endswith(_CODE_SUFFIXES)
            name = None if code else self._name(path)
            if name is None or name in self._asked or self._is_product(name):
                return
            if name in sys.path or self._project.startswith(f"{name}/"):
                return
            if name.startswith(self._project) or _is_asked(caller):
                self._asked[name] = state_of(name)

    # Modules

    def _import(self, name: str, *rest: Any) -> None:
        if is_own_file(_caller().f_code.co_filename):
            self._names.add(name)

    def _watch_imports(self) -> None:
        """Digests each module of the project as it is loaded, and runs what was digested.

        Python's own cache of bytecode takes two texts of one second and one length for the same.
        """
        loader: Any = importlib.machinery.SourceFileLoader
        original = loader.exec_module

        def load(self_: Any, module: types.ModuleType) -> None:
            source = self._take(str(self_.path)) if is_own_file(str(self_.path)) else None
            if source is None:
                original(self_, module)
            else:
                exec(self_.source_to_code(source, self_.path), module.__dict__)
            self._watch_compiled(module)
            self.loaded(module)

        loader.exec_module = load

    def _watch_compiled(self, module: Any) -> None:
        """Notes what compiled code opens, which raises no event."""

        def noting(original: Any, place: int, flags: int) -> Any:
            def opened(*args: Any, **named: Any) -> Any:
                given = named.get("filename", named.get("f", named.get("path")))
                path = args[place] if len(args) > place else given
                if self._sees and isinstance(path, str | bytes | os.PathLike):
                    with self._unseen():
                        self._open(path, None, flags)
                return original(*args, **named)

            return opened

        for name, place, flags in COMPILED.get(module.__name__, ()):
            if hasattr(module, name):
                setattr(module, name, noting(getattr(module, name), place, flags))

    def _take(self, file: str) -> bytes | None:
        """Notes a module's file: its content, or None where it can't be read."""
        with self._unseen():
            try:
                path = os.path.abspath(file)
                content = Path(path).read_bytes()
                code = code_digest(content, not os.path.samefile(path, self.home[1]))
            except OSError:
                self._mark(f"loads {os.path.basename(file)}, which can't be read")
                return None
            if b".__doc__" in content or b"getdoc" in content:
                self._mark("reads docstrings")
            self._imports |= imports_in(content)
            self._modules[path] = digest_of(content), code
            return content

    def changed_module(self) -> str | None:
        """A module of the project that was edited since it was loaded; None without one."""
        with self._unseen():
            known = self._modules.items()
            return next((path for path, (raw, _) in known if digest_of_file(path) != raw), None)

    # The environment, processes and the network

    def _watch_environment(self) -> None:
        tracer = self

        class Recorded(type(os.environ)):  # type: ignore[misc]
            """The environment, which notes what is read."""

            def __getitem__(self, key: Any) -> Any:
                tracer.read_variable(os.fsdecode(key))
                return super().__getitem__(key)

            def __iter__(self) -> Iterator[str]:
                tracer.read_variable(None)
                return iter(super().__iter__())

        os.environ.__class__ = os.environb.__class__ = Recorded

    def read_variable(self, name: str | None) -> None:
        """Notes a variable, or all of them, where the project reads it, by itself or a library."""
        whole = "reads the whole environment"
        if not self.active or not _is_asked(sys._getframe(2)):
            return
        if name is None:
            self._mark(whole)
        elif whole not in self.untraced:
            self._variables.add(name)

    def _link(self, path: Any) -> None:
        file = "" if path is None else os.fsdecode(path)
        if os.sep in file:
            self._open(file, None, os.O_RDONLY)
        elif is_own_file(_caller(_WRAPPERS).f_code.co_filename):
            self._mark("calls C's own functions")

    def _run(self, program: Any, argv: Any = (), *rest: Any) -> None:
        first = argv[0] if isinstance(argv, list | tuple) and argv else argv
        name = os.path.basename(os.fsdecode(program or first or "").split(" ")[0])
        if is_own_file(_caller(_WRAPPERS).f_code.co_filename) or name not in HARMLESS:
            self._mark(f"starts a program ({name})")

    # What came of it

    def inputs(self) -> dict[str, Any]:
        """All that was read so far, by absolute path, with digests."""
        with self._unseen():
            files = {name: _file(module) for name, module in list(sys.modules.items())}
            own = {name: file for name, file in files.items() if file and is_own_file(file)}
            for file in set(own.values()) - self._modules.keys():
                self._read(file)  # compiled code
            for name in sorted(((NATIVE & self._imports) | READERS) & sys.modules.keys()):
                self._mark(f"loads {name}, which opens files by itself")
            if STARTERS & sys.modules.keys():
                self._mark("starts processes")
            tops = {name.partition(".")[0] for name in own}
            places = {n: place_of(n) for n in self._names | own.keys() if not n.startswith("__")}
            return {
                "files": {n: digest for n, digest in self._files.items() if n not in self._modules},
                "asked": dict(self._asked),
                "lists": dict(self._folders),
                "directory": self._directory,
                "modules": {path: list(digests) for path, digests in self._modules.items()},
                "names": {name: place for name, place in places.items() if place != LIBRARY},
                "variables": sorted(self._variables),
                "imports": sorted(self._imports & sys.modules.keys() - tops),
                "untraced": list(self.untraced),
            }


def _file(module: types.ModuleType) -> str:
    file = getattr(module, "__file__", None)  # torch makes modules with the name of a file
    return file if isinstance(file, str) and file.startswith(os.sep) else ""


def _is_asked(frame: types.FrameType | None) -> bool:
    """Whether the project asks, by itself or by what it calls, and no library being imported."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own_file(file):
            return True
        if "importlib" in file and file.startswith("<frozen"):
            return False
        frame = frame.f_back
    return False


def _caller(beyond: tuple[str, ...] = ()) -> types.FrameType:
    """The frame that raised an event: the first beyond this file, and others that end so."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.endswith((__file__, *beyond)) and frame.f_back is not None:
        frame = frame.f_back
    return frame
