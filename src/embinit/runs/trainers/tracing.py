"""What a process reads, noted by an audit hook: hooks can't be removed, so only in a trainer."""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import importlib.util
import locale
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from embinit.code import digest_of_source, imports_in, is_own_file, parts_of
from embinit.digests import digest_of
from embinit.libraries import COMPILED, DOCUMENTED, NATIVE, READERS, STARTERS, UNSEEN
from embinit.runs.trainers.inputs import (
    CHECKS,
    NO_FILE,
    digest_of_file,
    interpreter,
    place_of,
    project_of,
)

SYSTEM = ("/proc/", "/sys/", "/dev/")
"""Folders of the operating system, whose files are no data."""

CONFIGURATION = ("/etc/", "/usr/lib", "/usr/share/zoneinfo/", "/lib/")
"""Folders whose files are data only where the project itself opens them."""

ENVIRONMENT = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "PWD", "TMPDIR", "TEMP", "TMP", "COLUMNS",
    "LINES", "CI", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH",
})  # fmt: skip
"""Variables that libraries read while they are imported, and that decide no number."""

LOCALE = frozenset({"LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LC_TIME"})
"""Variables that C reads where a locale is set."""

CUSTOM = frozenset({"sitecustomize", "usercustomize"})
"""Modules that Python loads when it starts."""

HARMLESS = frozenset({
    "lscpu", "ldconfig", "uname", "gcc", "cc", "c++", "g++", "ld", "file", "nvidia-smi",
    "rocm-smi", "getconf", "sysctl", "which", "objdump", "ptxas", "nvcc",
})  # fmt: skip
"""Programs by which libraries look at the machine."""

_TOOLS = ("/embinit/", "/_pytest/", "/pluggy/", "/hypothesis/")
"""Folders of code whose own questions decide no number."""
_IMPORTLIB = ("<frozen importlib", os.path.dirname(importlib.__file__) + os.sep)
_STANDARD = os.path.dirname(os.__file__) + os.sep
_WRAPPERS = ("/subprocess.py", "/os.py", "/ctypes/__init__.py")
_SHOWING = ("/linecache.py", "/tokenize.py", "/traceback.py", "/warnings.py")
"""Files that read a line of code for people."""
_PATHS = ("/pathlib.py", "/genericpath.py", "/posixpath.py")
_CODE_SUFFIXES = (".py", ".pyc", *importlib.machinery.EXTENSION_SUFFIXES)
MARKS = {
    "sqlite3.connect": "opens a database",
    "os.getxattr": "reads a file's extended attributes",
    "os.fork": "forks a process",
    "os.forkpty": "forks a process",
    "socket.connect": "uses the network",
    "socket.sendto": "uses the network",
}
"""Events that say what can't be followed."""
WORDS = (b"mtime", b"ctime", b"atime", b"st_mode", b"stat(", b"lineno", b"__doc__", b"getdoc")
"""Words of code that asks for what else counts for nothing."""


class Tracer:
    """What this process has read since ``start``, for a function's module ``home``.

    ``loaded`` is called with each module that is loaded.
    """

    def __init__(self, home: tuple[str, str], loaded: Callable[[types.ModuleType], None]) -> None:
        self.home, self.loaded = home, loaded
        self.active = True
        self.untraced: dict[str, None] = {}
        self._project = str(project_of(home)) + "/"
        self._directory, self._began_in = "", os.getcwd()
        self._seen: dict[str, dict[str, Any]] = {part: {} for part in CHECKS}  # by path
        self._products: set[str] = set()
        self._missing: set[str] = set()  # products that were asked for before they were made
        self._modules: dict[str, bytes] = {}  # their contents
        self._digests: dict[tuple[str, bool], str] = {}  # of their code, with docstrings or not
        self._sources: set[str] = set()  # modules' files that are read as data
        self._words: set[bytes] = set()  # of WORDS, those that the project's modules have
        self._imports: set[str] = set()  # what the project's modules import, at the top
        self._tools = {name.partition(".")[0] for name in sys.modules} - CUSTOM  # for nobody's run
        self._names: set[str] = set()  # of modules that the project has asked for
        self._tried: set[str] = set()  # of modules that libraries have asked for
        self._places: dict[str, str] = {}
        self._distributions: set[str] = set()  # whose versions are asked for
        self._entry_points: dict[str, str] = {}
        self._variables: set[str] = set()
        self._local = threading.local()  # "busy" within a hook, whose own reading is not noted

    def start(self) -> None:
        """Begins to note, for as long as the process lives."""
        handlers: dict[str, Callable[..., object]] = {
            "open": self._open,
            "import": lambda name, *rest: self._ask_module(_caller(), name),
            "os.listdir": self._list,
            "os.scandir": self._list,
            "os.mkdir": self._make,
            "os.rename": self._rename,
            "os.link": lambda path, *rest: self._open(path, None, os.O_RDONLY),
            "mmap.__new__": self._map,
            "ctypes.dlopen": self._link,
            "subprocess.Popen": self._run,
            "os.posix_spawn": self._run,
            "os.exec": self._run,
            "os.system": self._run,
            "os.chdir": self._name,
            **{event: functools.partial(self._mark, what) for event, what in MARKS.items()},
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
        for name in ("stat", "lstat", "fstat", "access", "readlink", "open"):
            self._note_calls(os, name, functools.partial(self._ask, name))
        for place, name, note in (
            (os, "getcwd", self._ask_directory),
            (os, "getcwdb", self._ask_directory),
            (importlib.util, "find_spec", self._ask_module),
            (importlib, "import_module", self._ask_module),
            (locale, "setlocale", self._ask_locale),
        ):
            self._note_calls(place, name, note)
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

    def _mark(self, what: str, *event: Any) -> None:
        self.untraced[what] = None

    def _note(self, part: str, name: str) -> None:
        """Notes the answer to a question on a path, as it is when it is first asked."""
        if name not in self._seen[part]:
            self._seen[part][name] = CHECKS[part][0](name)

    # Files and folders

    def _name(self, path: Any) -> str | None:
        """The absolute path of what is read; None for what is no data."""
        if path is None or isinstance(path, int):
            return None
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(SYSTEM):  # but for links from there, such as /proc/self/cwd
            name = os.path.realpath(name)
        if name.startswith(SYSTEM) and not name.startswith("/dev/shm/"):
            return None
        caller = _caller(("/pathlib.py",))
        file = caller.f_code.co_filename
        if name.startswith(CONFIGURATION) and _asker(caller) != "project":
            return None
        if name.endswith(_CODE_SUFFIXES) and file.startswith(_IMPORTLIB):
            return None
        if not is_own_file(name) and not is_own_file(file):
            return None
        if not os.path.isabs(os.fsdecode(path)):
            self._take_directory()
        return name

    def _take_directory(self) -> None:
        if os.getcwd() == self._began_in:  # and not where the function itself went
            self._directory = self._began_in

    def _ask_directory(self, caller: types.FrameType) -> None:
        if not caller.f_code.co_filename.endswith("/tempfile.py") and _asker(caller) == "project":
            self._take_directory()

    def _open(self, path: Any, mode: str | None, flags: int) -> None:
        name = self._name(path)
        if name is None:
            return
        writes = flags & os.O_ACCMODE
        makes = flags & os.O_TRUNC or (flags & os.O_CREAT and not os.path.lexists(name))
        if writes and makes:
            self._create(name)
        elif writes != os.O_WRONLY and (name in self._missing or (name := self._no_product(name))):
            if name.endswith(".py") and not _caller(_SHOWING[:2]).f_code.co_filename.endswith(
                _SHOWING
            ):
                self._sources.add(name)
            self._read(name)
        if writes and self._seen["files"].get(name) is not None:
            self._mark(f"changes {os.path.basename(name)}, which it reads")

    def _map(self, descriptor: int, *rest: Any) -> None:
        if descriptor < 0:  # memory of its own
            return
        with contextlib.suppress(OSError):
            name = _behind(descriptor)
            if name.startswith("/dev/shm/"):
                self._mark("uses shared memory")
            else:
                self._open(name, None, os.O_RDONLY)

    def _read(self, name: str) -> None:
        digest = digest_of_file(name)
        if digest == NO_FILE:
            if not os.path.isdir(name):
                self._mark(f"reads a pipe or a device ({os.path.basename(name)})")
        elif self._seen["files"].setdefault(name, digest) != digest:
            self._mark(f"reads {os.path.basename(name)}, which was changed while it was read")

    def _create(self, name: str) -> None:
        if self._seen["files"].get(name) is not None:
            self._mark(f"changes {os.path.basename(name)}, which it reads")
            return
        self._products |= {name, os.path.realpath(name)}
        known = [self._seen[part].pop(name, "") for part in ("files", "asked")]
        if None in known:  # as caches are made
            self._missing.add(name)

    def _is_product(self, name: str) -> bool:
        while name not in self._products:
            name, last = os.path.split(name)
            if not last:
                return False
        return True

    def _no_product(self, name: str) -> str:
        """The name of what is read where it is no product, or where a link in one leads; or ""."""
        if self._is_product(name):
            name = os.path.realpath(name)
        return "" if self._is_product(name) else name

    def _list(self, path: Any = None) -> None:
        caller = _caller()
        removes = isinstance(path, int) and caller.f_code.co_filename.endswith("/shutil.py")
        if removes or caller.f_code.co_filename.startswith(_IMPORTLIB):
            return
        name = self._name("." if path is None else _behind(path))
        if name is None or not (name := self._no_product(name)):
            return
        self._note("lists", name)
        own = is_own_file(caller.f_code.co_filename)
        if {b"stat(", b"mtime"} & self._words if own else "stat" in caller.f_code.co_names:
            for entry in os.listdir(name):  # what its entries tell raises no event
                self._keep_state(os.path.join(name, entry), caller)

    def _make(self, path: Any, *rest: Any) -> None:
        name = os.path.abspath(os.fsdecode(path))
        if not os.path.lexists(name):
            self._create(name)

    def _rename(self, before: Any, after: Any, *rest: Any) -> None:
        if self._is_product(os.path.abspath(os.fsdecode(before))):
            self._create(os.path.abspath(os.fsdecode(after)))

    def _note_calls(self, place: Any, name: str, note: Callable[..., Any]) -> None:
        """Has ``note`` called with the caller's frame and the arguments of each call.

        Where it returns True, nothing is noted of what the call itself does.
        """
        original = getattr(place, name)

        def noted(*args: Any, **named: Any) -> Any:
            if not self._sees:
                return original(*args, **named)
            with self._unseen():
                if note(sys._getframe(1), *args, **named):
                    return original(*args, **named)
            return original(*args, **named)

        for group in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if original in group:
                group.add(noted)
        setattr(place, name, noted)

    def _ask(self, call: str, caller: types.FrameType, path: Any, *rest: Any, **named: Any) -> bool:
        """Notes which files are asked for: that raises no event, and one that appears may decide.

        What is opened within a folder's descriptor has an event that leaves out the folder.
        """
        if named.get("dir_fd") is not None:
            if not caller.f_code.co_filename.endswith("/shutil.py"):  # which removes folders
                self._mark("reads by a folder's descriptor")
            return True
        if call == "open":
            return False
        with contextlib.suppress(OSError, TypeError, ValueError):
            path = os.fsdecode(_behind(path))
            own = is_own_file(_caller(_PATHS).f_code.co_filename)
            data = call != "fstat" and not path.endswith(_CODE_SUFFIXES)
            asks = own or data or "mtime" in caller.f_code.co_name
            name = self._name(path) if asks else None
            if name is None or not (name := self._no_product(name)):
                return False
            if name in sys.path or self._project.startswith(f"{name}/"):
                return False
            if name.startswith(self._project) or _asker(caller):
                if call == "access":
                    self._note("modes", name)
                self._keep_state(name, caller)
        return False

    def _keep_state(self, name: str, caller: types.FrameType) -> None:
        """Keeps what counts of a file that is asked for: its time where the caller may look at it.

        Any other caller than the standard library's may, if it has the words for it.
        """
        self._note("asked", name)
        while caller.f_code.co_name in ("stat", "lstat") and caller.f_back is not None:
            caller = caller.f_back  # of pathlib
        file, words = caller.f_code.co_filename, caller.f_code.co_names
        own = is_own_file(file) or "/fsspec/" in file
        asks = {b"mtime", b"ctime", b"atime"} & self._words if own else "st_mtime" in words
        of_time = caller.f_code.co_name.startswith("get")  # such as os.path.getmtime
        if asks and (of_time or not file.startswith(_STANDARD)):
            self._note("times", name)
        if own and b"st_mode" in self._words:
            self._note("modes", name)

    # Modules

    def _ask_module(self, caller: types.FrameType, name: str, *rest: Any, **named: Any) -> None:
        if is_own_file(caller.f_code.co_filename):
            self._names.add(name)
        elif name not in self._tried and _asker(caller):
            self._tried.add(name)

    def _ask_distribution(self, caller: types.FrameType, name: str) -> None:
        if _asker(caller):
            self._distributions.add(name)

    def _ask_entry_points(self, caller: types.FrameType, **named: str) -> None:
        if _asker(caller):
            from embinit.distributions import entry_points_of

            group = named.get("group", "")
            self._entry_points[group] = entry_points_of(group)

    def _list_distributions(self, caller: types.FrameType, *rest: Any, **named: Any) -> None:
        if is_own_file(caller.f_code.co_filename):
            self._mark("lists all that is installed")

    def _ask_locale(self, caller: types.FrameType, *rest: Any, **named: Any) -> None:
        if _asker(caller):
            self._variables |= LOCALE

    def _watch_imports(self) -> None:
        """Digests each module of the project as it is loaded, and runs what was digested.

        Python's own cache of bytecode takes two texts of one second and one length for the same.
        """
        loader: Any = importlib.machinery.SourceFileLoader
        original = loader.exec_module

        def load(self_: Any, module: types.ModuleType) -> None:
            own = is_own_file(str(self_.path))
            if not own and "." not in module.__name__ and not _asker(sys._getframe(1)):
                self._tools.add(module.__name__)
            source = self._take(str(self_.path)) if own else None
            if source is None:
                original(self_, module)
            else:
                exec(self_.source_to_code(source, self_.path), module.__dict__)
            self._watch_compiled(module)
            self.loaded(module)

        loader.exec_module = load
        if "importlib.metadata" in sys.modules:
            self._watch_compiled(sys.modules["importlib.metadata"])

    def _watch_compiled(self, module: Any) -> None:
        """Notes what compiled code opens, which raises no event, and questions on versions."""
        if module.__name__ == "importlib.metadata":
            for name in ("distributions", "packages_distributions"):
                self._note_calls(module, name, self._list_distributions)
            self._note_calls(module.Distribution, "discover", self._list_distributions)
            self._note_calls(module.Distribution, "from_name", self._ask_distribution)
            self._note_calls(module, "entry_points", self._ask_entry_points)

        for name, place, flags in COMPILED.get(module.__name__, ()):
            holder, _, last = name.rpartition(".")
            owner = getattr(module, holder, None) if holder else module
            if hasattr(owner, last):
                self._note_calls(owner, last, functools.partial(self._ask_compiled, place, flags))

    def _ask_compiled(
        self, place: int, flags: int, caller: types.FrameType, *args: Any, **named: Any
    ) -> None:
        given = named.get("filename", named.get("f", named.get("path")))
        path = args[place] if len(args) > place else given
        if isinstance(path, str | bytes | os.PathLike):
            self._open(path, None, flags)

    def _take(self, file: str) -> bytes | None:
        """Notes a module's file: its content, or None where it can't be read."""
        with self._unseen():
            try:
                path = os.path.abspath(file)
                content = Path(path).read_bytes()
            except OSError:
                self._mark(f"loads {os.path.basename(file)}, which can't be read")
                return None
            self._words |= {word for word in WORDS if word in content.lower()}
            self._imports |= imports_in(content)
            self._modules[path] = content
            return content

    def _code(self, path: str, documented: bool) -> list[str]:
        """The digests of a module's content and code."""
        content = self._modules[path]
        if (path, documented) not in self._digests:
            tests = not os.path.samefile(path, self.home[1])
            code = digest_of_source(content, tests, documented)
            self._digests[path, documented] = code
        return [digest_of(content), self._digests[path, documented]]

    def changed_module(self) -> str | None:
        """A module of the project that was edited since it was loaded; None without one."""
        with self._unseen():
            known = self._modules.items()
            found = (path for path, text in known if digest_of_file(path) != digest_of(text))
            return next(found, None)

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

            def __repr__(self) -> str:
                tracer.read_variable(None)
                return str(super().__repr__())

        os.environ.__class__ = os.environb.__class__ = Recorded

    def read_variable(self, name: str | None) -> None:
        """Notes a variable, or all of them, where the project reads it, by itself or a library."""
        whole = "reads the whole environment"
        if not self.active or not (asker := _asker(sys._getframe(2))):
            return
        if asker == "library" and (name is None or name in ENVIRONMENT):
            return
        if name is None:
            self._mark(whole)
        elif whole not in self.untraced:
            self._variables.add(name)

    def _link(self, path: Any) -> None:
        file = "" if path is None else os.fsdecode(path)
        if os.sep in file:
            self._open(file, None, os.O_RDONLY)
            if is_own_file(os.path.abspath(file)):
                self._mark(f"runs compiled code ({os.path.basename(file)})")
        elif is_own_file(_caller(_WRAPPERS).f_code.co_filename):
            self._mark("calls C's own functions")

    def _run(self, program: Any, argv: Any = (), *rest: Any) -> None:
        first = argv[0] if isinstance(argv, list | tuple) and argv else argv
        name = os.path.basename(os.fsdecode(program or first or "").split(" ")[0])
        asks_version = isinstance(argv, list | tuple) and "version" in os.fsdecode(argv[-1])
        own = is_own_file(_caller(_WRAPPERS).f_code.co_filename)
        if own or not (asks_version or name in HARMLESS):
            self._mark(f"starts a program ({name})")

    # What came of it

    def inputs(self) -> dict[str, Any]:
        """All that was read so far, by absolute path, with digests."""
        with self._unseen():
            files = {name: _file(module) for name, module in list(sys.modules.items())}
            own = {name: file for name, file in files.items() if file and is_own_file(file)}
            for file in set(own.values()) - self._modules.keys():
                self._read(file)  # compiled code
                if file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
                    self._mark(f"runs compiled code ({os.path.basename(file)})")
            for name in sorted(((NATIVE & self._imports) | READERS) & sys.modules.keys()):
                self._mark(f"loads {name}, which opens files by itself")
            if STARTERS & sys.modules.keys():
                self._mark("starts processes")
            tops = {name.partition(".")[0] for name in own}
            libraries = {n.partition(".")[0] for n, file in files.items() if file} - tops
            libraries -= sys.stdlib_module_names
            wanted = (libraries - self._tools) | (self._imports & sys.modules.keys() - tops)
            named = self._names | own.keys() | self._tried - sys.modules.keys()
            for name in {part for one in named for part in parts_of(one)} - self._places.keys():
                if name[:2] != "__" and name[:1] not in ("", "."):
                    self._places[name] = place_of(name)
            documented = bool({b"__doc__", b"getdoc"} & self._words or DOCUMENTED & self._imports)
            if b"lineno" in self._words:
                self._sources.update(self._modules)
                for path in self._modules:
                    self._read(path)
            seen = {part: dict(known) for part, known in self._seen.items()}
            for path in seen["files"].keys() & self._modules.keys() - self._sources:
                del seen["files"][path]
            for folder in seen["lists"].keys() & set(map(os.path.dirname, self._products)):
                del seen["lists"][folder]
                self._mark(f"lists {os.path.basename(folder)}, where it writes")
            return {
                **seen,
                "directory": self._directory,
                "documented": documented,
                "modules": {path: self._code(path, documented) for path in self._modules},
                "names": dict(self._places),
                "variables": sorted(self._variables | UNSEEN),
                "imports": sorted(wanted - sys.stdlib_module_names),
                "loaded": sorted(libraries),
                "distributions": sorted(self._distributions),
                "entry points": dict(self._entry_points),
                "python": interpreter(),
                "untraced": list(self.untraced),
            }


def _behind(path: Any) -> Any:
    """The path of what a descriptor has opened; any other path as it is."""
    if not isinstance(path, int):
        return path
    found = os.readlink(f"/proc/self/fd/{path}")
    return found if found.startswith(os.sep) else path  # and no pipe


def _file(module: types.ModuleType) -> str:
    file = getattr(module, "__file__", None)  # torch makes modules with the name of a file
    return file if isinstance(file, str) and file.startswith(os.sep) else ""


def _asker(frame: types.FrameType | None) -> str:
    """Who asks: the project, by itself or by what it calls, or a library that it imports, or "".

    The questions of embinit and of pytest are nobody's. A thread without a frame of the project
    was started by it.
    """
    found = "project"
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own_file(file):
            return found
        if file.startswith("<frozen importlib"):
            found = "library"
        elif file != __file__ and any(tool in file for tool in _TOOLS):
            return ""
        frame = frame.f_back
    return "" if threading.current_thread() is threading.main_thread() else found


def _caller(beyond: tuple[str, ...] = ()) -> types.FrameType:
    """The frame that raised an event: the first beyond this file, and others that end so."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.endswith((__file__, *beyond)) and frame.f_back is not None:
        frame = frame.f_back
    return frame
