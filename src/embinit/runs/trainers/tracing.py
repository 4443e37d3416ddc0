"""What a process reads, noted by an audit hook: hooks can't be removed, so only in a trainer."""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import os
import stat
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from embinit.code import digest_of, imports_in, is_own_file, is_shipped
from embinit.runs.trainers.globals import described
from embinit.runs.trainers.inputs import (
    DOCUMENTED,
    LINK,
    PRESENT,
    asked_for,
    code_digest,
    digest_of_file,
    digest_of_names,
    project_of,
    signature,
    target_of,
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

READERS = frozenset({"safetensors", "h5py", "netCDF4", "tensorflow"}) | {
    f"pyarrow.{part}" for part in ("parquet", "dataset", "csv", "feather", "orc", "json")
}
"""Modules that do so whoever imports them."""

TERMINAL = frozenset({"COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR"})
"""Variables that decide no number where a library reads them."""

READS_DOCSTRINGS = (b"__doc__", b"getdoc", b"docopt")
"""Names by which code reads docstrings as data."""

_STDLIB = str(Path(os.__file__).parent) + "/"
_SITE = ("/site-packages/", "/dist-packages/")
_stat, _lstat = os.stat, os.lstat


def _is_stdlib(file: str) -> bool:
    return (file.startswith(_STDLIB) and not any(part in file for part in _SITE)) or (
        file.startswith("<frozen ") and "importlib" not in file
    )


class Tracer:
    """What this process has read since ``start``, for a function's module ``home``."""

    def __init__(self, home: tuple[str, str]) -> None:
        self.home = home
        self.project = str(project_of(home)) + "/"
        self.active = True
        self._directory = ""
        self.untraced: dict[str, None] = {}
        self.variables: dict[str, None] = {}
        self.states: dict[str, dict[str, str]] = {}
        self.loaded: Callable[[types.ModuleType], None] = lambda module: None
        self._files: dict[str, tuple[int, ...] | str | None] = {}
        self._folders: dict[str, str | None] = {}
        self._modules: dict[str, tuple[tuple[int, ...] | None, str, str]] = {}
        self._products: set[str] = set()
        self._missing: set[str] = set()
        self._documented = False
        self._own_variables: set[str] = set()
        self._imports: set[str] = set()
        self._asked: set[str] = set()
        self._known = 0
        self._before_all: dict[str, None] | None = None
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
            "sqlite3.connect": self._connect_to_file,
            "ctypes.dlopen": self._link,
            "subprocess.Popen": self._run,
            "os.posix_spawn": lambda path, argv, env: self._run(path, argv),
            "os.exec": lambda path, argv, env: self._run(path, argv),
            "os.system": lambda command: self._run(command, (command,)),
            "os.fork": lambda: self._mark("forks a process"),
            "os.forkpty": lambda: self._mark("forks a process"),
            "socket.connect": self._connect,
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
        self._watch_stat()
        self._watch_links()
        self._watch_folders()
        self._watch_processes()
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

    def _open(self, path: Any, mode: str | None, flags: int) -> None:
        name = self._name(path)
        if name is None:
            return
        writes = flags & os.O_ACCMODE
        if writes and (flags & os.O_TRUNC or (flags & os.O_CREAT and not os.path.lexists(name))):
            if not isinstance(self._files.get(name), tuple):
                self._create(name)
        elif writes != os.O_WRONLY and (name in self._missing or not self._is_product(name)):
            self._read(name)

    def _connect_to_file(self, path: Any) -> None:
        plain = os.fsdecode(path).removeprefix("file:").partition("?")[0]
        self._open(plain, None, os.O_RDWR | os.O_CREAT)

    def _name(self, path: Any) -> str | None:
        """The absolute path of what is opened; None for what is no data."""
        if path is None or isinstance(path, int):
            return None
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(SYSTEM) and not name.startswith("/dev/shm/"):
            return None
        if not is_own_file(name) or name.endswith("/:memory:"):
            return None
        if name.endswith(_CODE_SUFFIXES) and "importlib" in _caller().f_code.co_filename:
            return None
        if not os.path.isabs(os.fsdecode(path)):
            self._directory = os.getcwd()
        return name

    def _read(self, name: str) -> None:
        if isinstance(self._files.get(name), tuple):
            return
        try:
            found = _stat(name)
        except (OSError, ValueError):
            self._files.setdefault(name, None)
            return
        if stat.S_ISREG(found.st_mode):
            self._files[name] = signature(found)
        elif not stat.S_ISDIR(found.st_mode):
            what = "a pipe" if stat.S_ISFIFO(found.st_mode) else "a device"
            self._mark(f"reads {what} ({os.path.basename(name)})")

    def _create(self, name: str) -> None:
        self._products.add(name)
        if self._files.pop(name, PRESENT) is None:  # made since it was missing, as caches are
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
        name = self._name(os.getcwd() if path is None else path)
        if name is not None and name not in self._folders and not self._is_product(name):
            self._folders[name] = digest_of_names(name)

    def _make(self, path: Any, *rest: Any) -> None:
        name = os.path.abspath(os.fsdecode(path))
        if not os.path.lexists(name):
            self._create(name)

    def _rename(self, before: Any, after: Any, *rest: Any) -> None:
        if self._is_product(os.path.abspath(os.fsdecode(before))):
            self._create(os.path.abspath(os.fsdecode(after)))

    def _link(self, path: Any) -> None:
        caller = _caller().f_back  # ctypes has raised the event
        if path is None and caller is not None and is_own_file(caller.f_code.co_filename):
            self._mark("calls C's own functions")
        if isinstance(path, str | bytes) and os.sep in os.fsdecode(path):
            self._open(path, None, os.O_RDONLY)

    def _watch_stat(self) -> None:
        """Notes which files are asked for, since one that appears later may decide."""
        supported = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks)

        def watch(original: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
            def asked(path: Any, *args: Any, **named: Any) -> os.stat_result:
                if not self._sees or named.get("dir_fd") is not None:
                    return original(path, *args, **named)
                try:
                    found = original(path, *args, **named)
                except OSError:
                    self._ask(path, None)
                    raise
                self._ask(path, asked_for(found))
                return found

            for group in supported:
                if original in group:
                    group.add(asked)
            return asked

        os.stat, os.lstat = watch(_stat), watch(_lstat)
        access = os.access

        def may(path: Any, mode: int, **named: Any) -> bool:
            if not named and self._sees:
                os.path.exists(path)  # asks
            return access(path, mode, **named)

        os.access = may

    def _watch_links(self) -> None:
        original = os.readlink

        def leads(path: Any, **named: Any) -> Any:
            target = original(path, **named)
            if not named and self._sees:
                self._ask(path, LINK + os.fsdecode(target))
            return target

        os.supports_dir_fd.add(leads)
        os.readlink = leads

    def _watch_folders(self) -> None:
        """Notes what is opened within a folder's descriptor, which its event leaves out."""
        original = os.open

        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if dir_fd is None or not self._sees:
                return original(path, flags, mode, dir_fd=dir_fd)
            with self._unseen():
                folder = target_of(f"/proc/self/fd/{dir_fd}")
                if folder is None:
                    self._mark("opens a file by its folder's descriptor")
                else:
                    inside = os.path.join(folder.removeprefix(LINK), os.fsdecode(path))
                    self._open(inside, None, flags)
                return original(path, flags, mode, dir_fd=dir_fd)

        os.supports_dir_fd.add(opened)
        os.open = opened

    def _ask(self, path: Any, found: str | None) -> None:
        caller = sys._getframe(2)
        with self._unseen(), contextlib.suppress(OSError, TypeError, ValueError):
            name = self._name(path)
            if name is None or name.endswith(_CODE_SUFFIXES) or self._is_product(name):
                return
            if name.startswith(self.project) or self._blames(caller) == "project":
                leads = found is not None and found.startswith(LINK)
                if leads and not isinstance(self._files.get(name), tuple):
                    self._files[name] = found
                self._files.setdefault(name, found)

    # Modules

    def _import(self, name: str, *rest: Any) -> None:
        if is_own_file(_caller().f_code.co_filename):
            self._asked.add(name)

    def _watch_imports(self) -> None:
        """Digests each module of the project as it is loaded, and runs what was digested.

        Python's own cache of bytecode takes two texts of one second and one length for the same.
        """
        loader: Any = importlib.machinery.SourceFileLoader
        original = loader.exec_module

        def load(self_: Any, module: types.ModuleType) -> None:
            own = is_own_file(str(self_.path))
            source = self._take(str(self_.path)) if own else None
            if source is None:
                original(self_, module)
            else:
                exec(self_.source_to_code(source, self_.path), module.__dict__)
            if own and self.states and not is_shipped(module.__name__):
                self.states[module.__name__] = described(module)
            self.loaded(module)

        loader.exec_module = load

    def _take(self, file: str) -> bytes | None:
        """Notes a module's file: its content, or None where it can't be read."""
        with self._unseen():
            try:
                path = os.path.abspath(file)
                content = Path(path).read_bytes()
                code = digest_of(content)
                if path.endswith(".py"):
                    code = code_digest(content, not os.path.samefile(path, self.home[1]), False)
                    self._imports |= imports_in(content)
                    self._documented |= any(name in content for name in READS_DOCSTRINGS)
                self._modules[path] = signature(_stat(path)), digest_of(content), code
                return content
            except OSError:
                self._mark(f"loads {os.path.basename(file)}, which can't be read")
                return None

    def _take_all(self) -> None:
        if len(sys.modules) == self._known:
            return
        self._known = len(sys.modules)
        for _, module in _own_modules():
            if _file(module) not in self._modules:
                self._take(_file(module))

    def _take_docstrings(self) -> None:
        for path, (seen, raw, code) in self._modules.items():
            if path.endswith(".py") and not code.startswith(DOCUMENTED):
                with contextlib.suppress(OSError):
                    content = Path(path).read_bytes()
                    tests = not os.path.samefile(path, self.home[1])
                    self._modules[path] = seen, raw, code_digest(content, tests, True)

    def ready(self) -> dict[str, dict[str, str]]:
        """Keeps the globals of the project's modules, once the function's own is loaded."""
        for name, module in _own_modules():
            if name != "__main__" and not is_shipped(name):
                self.states[name] = described(module)
        self.states.setdefault(self.home[0], {})
        return self.states

    def changed_module(self) -> str | None:
        """A module of the project that was edited since it was loaded; None without one."""
        for path, (seen, raw, _) in self._modules.items():
            try:
                if signature(_stat(path)) != seen and digest_of(Path(path).read_bytes()) != raw:
                    return path
            except OSError:
                return path
        return None

    def _absent(self) -> Iterator[str]:
        """Files that would have been imported in the place of what was."""
        own = {name for name, m in list(sys.modules.items()) if _file(m) in self._modules}
        for name in self._asked | own:
            parent, _, last = name.rpartition(".")
            above = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
            found = sys.modules.get(name)
            if found is not None and name not in own:
                continue  # a library's
            for folder in above:
                base = os.path.join(os.path.abspath(folder), last)
                if not (is_own_file(base + "/") and os.path.isdir(folder or ".")):
                    continue
                candidates = [os.path.join(base, "__init__.py"), base + ".py"]
                yield from (c for c in candidates if not os.path.exists(c))
                if _file(found) in candidates:
                    break

    # The environment, processes and the network

    def _watch_environment(self) -> None:
        tracer = self

        class Recorded(type(os.environ)):  # type: ignore[misc]
            """The environment, which notes what is read."""

            def __getitem__(self, key: Any) -> Any:
                tracer.read_variable(os.fsdecode(key))
                return super().__getitem__(key)

            def __setitem__(self, key: Any, value: Any) -> None:
                super().__setitem__(key, value)
                tracer.set_variable(os.fsdecode(key))

            def __delitem__(self, key: Any) -> None:
                super().__delitem__(key)
                tracer.set_variable(os.fsdecode(key))

            def __iter__(self) -> Iterator[str]:
                tracer.read_variable(None)
                return iter(super().__iter__())

        # As a module's global it is what it is in pytest's process.
        Recorded.__module__, Recorded.__qualname__ = "os", "_Environ"
        os.environ.__class__ = os.environb.__class__ = Recorded

    def set_variable(self, name: str) -> None:
        """Notes that the process itself set a variable, which is no input from then on."""
        if self.active:
            self._own_variables.add(name)

    def read_variable(self, name: str | None) -> None:
        """Notes a variable, or all of them, where the project reads it, by itself or a library."""
        if not self.active or name in self._own_variables:
            return
        who = self._blames(sys._getframe(2))
        if who is None or (who == "library" and name in TERMINAL):
            return
        if name is None:
            self._mark("reads the whole environment")
            self._before_all = self._before_all or dict(self.variables)
        elif isinstance(name, str):
            self.variables[name] = None

    def _blames(self, frame: types.FrameType | None) -> str | None:
        """Who calls: the project, a library that it called, or (None) a library being imported."""
        who = "project"
        while frame is not None:
            file = frame.f_code.co_filename
            if is_own_file(file):
                return who
            if "importlib" in file and file.startswith("<frozen"):
                return None
            if not (_is_stdlib(file) or file.startswith("<")):
                who = "library"
            frame = frame.f_back
        return None

    def _watch_processes(self) -> None:
        """Multiprocessing's own way to start a process raises no event."""
        import _posixsubprocess
        import subprocess  # has its own name for it, and an event

        original = _posixsubprocess.fork_exec

        def start(*args: Any) -> int:
            if self.active:
                self._mark("starts processes")
            return int(original(*args))

        _posixsubprocess.fork_exec = start
        _ = subprocess

    def _run(self, program: Any, argv: Any = (), *rest: Any) -> None:
        first = argv[0] if isinstance(argv, list | tuple) and argv else argv
        name = os.path.basename(os.fsdecode(program or first or "").split(" ")[0])
        frame: types.FrameType | None = _caller()
        while frame is not None and frame.f_code.co_filename.endswith(("/subprocess.py", "/os.py")):
            frame = frame.f_back
        own = frame is None or is_own_file(frame.f_code.co_filename)
        if own or name not in HARMLESS:
            self._mark(f"starts a program ({name})")

    def _connect(self, socket: Any, address: Any) -> None:
        where = address[0] if isinstance(address, tuple) else address
        self._mark(f"connects to {os.fsdecode(where) if isinstance(where, str | bytes) else where}")

    # What came of it

    def inputs(self) -> dict[str, Any]:
        """All that was read so far, by absolute path, with digests."""
        with self._unseen():
            self._take_all()
            files: dict[str, str | None] = {}
            for name, seen in list(self._files.items()):
                if name in self._modules:
                    continue
                if isinstance(seen, tuple):
                    files[name] = self._digest(name, seen)
                elif (
                    seen in (None, PRESENT)
                    or seen.startswith(LINK)
                    or not os.path.exists(name)
                    or asked_for(_stat(name)) == seen
                ):
                    files[name] = seen
                else:  # it grew meanwhile
                    files[name] = PRESENT
            files |= dict.fromkeys(self._absent(), None)
            if self._documented:
                self._take_docstrings()
            for name in sorted(((NATIVE & self._imports) | READERS) & sys.modules.keys()):
                self._mark(f"loads {name}, which opens files by itself")
            return {
                "files": files,
                "folders": dict(self._folders),
                "directory": self._directory,
                "modules": {path: list(each[1:]) for path, each in self._modules.items()},
                "variables": sorted(
                    self.variables if self._before_all is None else self._before_all
                ),
                "imports": sorted(self._imports - self._own_packages()),
                "untraced": list(self.untraced),
            }

    def _digest(self, name: str, seen: tuple[int, ...]) -> str | None:
        try:
            if signature(_stat(name)) != seen:
                self._mark(f"reads {os.path.basename(name)}, which was changed while it was read")
            return digest_of_file(name)
        except OSError:
            self._mark(f"reads {os.path.basename(name)}, which was removed while it was read")
            return None

    def _own_packages(self) -> set[str]:
        loaded = {name: _file(sys.modules.get(name)) for name in self._imports}
        return {name for name, file in loaded.items() if not file or is_own_file(file)}


_CODE_SUFFIXES = (".py", ".pyc", *importlib.machinery.EXTENSION_SUFFIXES)


def _own_modules() -> list[tuple[str, types.ModuleType]]:
    """The modules of the project that are loaded, by name."""
    modules = list(sys.modules.items())
    return [(name, each) for name, each in modules if _file(each) and is_own_file(_file(each))]


_absolute = functools.cache(os.path.abspath)  # a run asks for the file of every module


def _file(module: types.ModuleType | None) -> str:
    file = getattr(module, "__file__", None)
    return _absolute(file) if isinstance(file, str) else ""


def _caller() -> types.FrameType:
    """The frame that raised an event: the first beyond this file."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame
