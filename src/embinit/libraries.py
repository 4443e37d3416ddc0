"""What is known of libraries: those that read or start something unseen."""

from __future__ import annotations

import os

UNSEEN = frozenset({
    "TZ", "PYTHONHASHSEED", "NPY_DISABLE_CPU_FEATURES", "MKL_CBWR", "CUBLAS_WORKSPACE_CONFIG",
})  # fmt: skip
"""Variables that Python itself and compiled code of libraries read, unseen."""

NATIVE = frozenset({
    "pyarrow", "polars", "lxml", "cv2", "fasttext", "duckdb", "lmdb", "rasterio", "netCDF4",
    "fastparquet", "xgboost", "lightgbm", "sentencepiece", "tokenizers", "decord",
    "tensorstore", "torchaudio", "soundfile", "osgeo", "fiona", "zarr", "kaldiio",
    "posix", "cffi",
})  # fmt: skip
"""Libraries that open files by themselves, unseen, where the project imports them."""

READERS = frozenset({
    "h5py", "netCDF4", "tables", "tensorflow", "faiss", "onnxruntime", "mujoco",
    "pybullet", "catboost", "kenlm", "annoy", "hnswlib", "llama_cpp", "ctranslate2", "psycopg2",
    "psycopg", "pycurl", "apsw", "pyodbc", "_dbm", "_gdbm",
    "pyarrow.parquet", "pyarrow.dataset", "pyarrow.csv", "pyarrow.feather", "pyarrow.orc",
    "pyarrow.json",
})  # fmt: skip
"""Modules that do so whoever imports them."""

_READS, _WRITES = os.O_RDONLY, os.O_WRONLY | os.O_TRUNC
COMPILED: dict[str, tuple[tuple[str, int, int], ...]] = {
    "safetensors": (("safe_open", 0, _READS), ("serialize_file", 1, _WRITES)),
    "torch": (
        ("from_file", 0, _READS),
        ("UntypedStorage.from_file", 0, _READS),
        ("save", 1, _WRITES),
    ),
    "torch.package.package_importer": (("PackageImporter.__init__", 1, _READS),),
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

DOCUMENTED = frozenset({
    "pydantic", "ply", "sly", "dspy", "docopt", "click", "typer", "fire", "pydoc",
    "docstring_parser", "langchain_core", "marvin", "instructor", "tyro", "jsonargparse", "plac",
    "defopt", "cyclopts", "simple_parsing", "smolagents", "doctest",
})  # fmt: skip
"""Libraries that read the docstrings of what imports them."""
