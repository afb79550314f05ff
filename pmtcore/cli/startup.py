"""How the command line starts: products of matrices in one thread, and pyarrow without pandas.

pyarrow imports pandas, where it is installed, to recognize frames, before it converts its first value to or from
Python. A command reads files and hands pyarrow no object of pandas. So in a process of its own the command line lets
pyarrow look once while pandas is hidden; ``to_pandas`` looks again and finds it. A process that also runs other code (a
notebook, a test) is left as it is.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder

_process: dict[str, bool] = {"own": False}


def own_process() -> None:
    """State that this process runs one command and nothing else.

    Its passes take a thread for each core, so products of matrices inside them take one; numpy reads that when it is
    loaded.
    """
    _process["own"] = True
    for library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(library, "1")


def is_own_process() -> bool:
    """Return whether this process runs one command and nothing else."""
    return _process["own"]


def start_arrow() -> None:
    """Let pyarrow convert its first value without loading pandas, in a process of the command line's own.

    Its buffers come from the system: a pool of its own would keep 8 MB that a small table never uses.
    """
    if not _process["own"] or "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415  # no command pays for the libraries of another

    pa.set_memory_pool(pa.system_memory_pool())
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([], pa.float64()).to_numpy(zero_copy_only=False)  # looks in both directions
    finally:
        sys.meta_path.remove(finder)


class _WithoutPandas(MetaPathFinder):
    """Finder that says that pandas is not installed."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Raise for pandas, and leave every other module to the next finder.

        Raises:
            ModuleNotFoundError: pandas is asked for.
        """
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)
