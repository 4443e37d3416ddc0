"""Modules of claims in other processes: what they register must be known there too."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

from embinit.errors import InputError

Home = tuple[str, str]
"""A module's name and its file."""


def module_named(file: Path) -> str:
    """The name of a file's module, with those of the packages that it lies in."""
    names = [file.stem]
    for folder in file.absolute().parents:
        if not (folder / "__init__.py").exists():
            break
        names.insert(0, folder.name)
    return ".".join(names)


def load_module(name: str, file: str) -> None:
    """Loads a module of claims, by its name where that leads to its file, else from the file."""
    if name in sys.modules and name != "__main__":
        return
    if not Path(file).exists():
        raise InputError(f"{file} is not here; have the same claims at the same path everywhere")
    try:
        if name != "__main__":
            root = str(Path(file).parents[name.count(".")])
            if root not in sys.path:
                sys.path.insert(0, root)
            with contextlib.suppress(ImportError, ValueError):
                known = importlib.util.find_spec(name)
                if known is not None and known.origin and Path(known.origin).samefile(file):
                    importlib.import_module(name)
                    return
        own = "__embinit_main__" if name == "__main__" else name
        spec = importlib.util.spec_from_file_location(own, file)
        if spec is None or spec.loader is None:
            raise InputError(f"{file} is no Python module")
        module = importlib.util.module_from_spec(spec)
        sys.modules[own] = module
        spec.loader.exec_module(module)
    except Exception as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file} can't be loaded ({type(error).__name__}: {error})") from error


def load_modules(homes: Iterable[Home]) -> None:
    """Loads modules of claims; one that can't be loaded is passed over, as its runs will say so."""
    for name, file in homes:
        with contextlib.suppress(InputError):
            load_module(name, file)
