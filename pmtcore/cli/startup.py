"""How the command line starts: products of matrices in one thread, pyarrow without pandas, SciPy without numpy's tools.

pyarrow imports pandas, where it is installed, to recognize frames, before it converts its first value to or from
Python. A command reads files and hands pyarrow no object of pandas. So in a process of its own the command line lets
pyarrow look once while pandas is hidden; ``to_pandas`` looks again and finds it. A process that also runs other code (a
notebook, a test) is left as it is.

SciPy copies all names of numpy, and so loads what numpy itself loads only when it is asked for: masked arrays, test
tools, the front end of a Fortran compiler. Those names are hidden while it does. It also parses the documentation of
its functions to add a note to each; while a command loads there is none to parse, as under ``python -OO``.

Loaded modules stay in memory, so the garbage collector is off while they load and excludes them afterwards.
"""

import gc
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from typing import Any

_process: dict[str, bool] = {"own": False}


def own_process() -> None:
    """State that this process runs one command and nothing else.

    Its passes use a thread for each core, so matrix products within them use one thread; numpy reads that setting when
    it is loaded.
    """
    _process["own"] = True
    sys.meta_path.insert(0, _NumpyWithoutTools())
    for library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(library, "1")


def is_own_process() -> bool:
    """Return whether this process runs one command and nothing else."""
    return _process["own"]


@contextmanager
def loading() -> Iterator[None]:
    """Load a command's modules: nothing is collected and no documentation is parsed, in a process of its own."""
    if not _process["own"]:
        yield
        return
    documentation = inspect.getdoc
    inspect.getdoc = _no_documentation
    gc.disable()
    try:
        yield
    finally:
        inspect.getdoc = documentation
        gc.freeze()
        gc.enable()


def _no_documentation(object: object) -> str:
    """Return an empty documentation in place of :func:`inspect.getdoc`, whose caller accepts no ``None``."""
    return ""


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


class _NumpyWithoutTools(MetaPathFinder):
    """Finder that finds nothing, and lets numpy name only what it has loaded while SciPy copies its names."""

    _COPY = "scipy._lib.array_api_compat.numpy"

    def __init__(self) -> None:
        self._restore: Callable[[], None] | None = None

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Hide names when SciPy's copy is looked for, and show them again when the first part of it is."""
        if fullname == self._COPY:
            self._restore = _hidden_tools()
        elif self._restore is not None and fullname.startswith(f"{self._COPY}."):
            self._restore()
            with suppress(ValueError):
                sys.meta_path.remove(self)


def _hidden_tools() -> Callable[[], None]:
    """Hide what numpy has not loaded from its lists of names; return what shows it again."""
    import numpy  # noqa: PLC0415

    module: Any = numpy
    names, listed = module.__all__, module.__dir__
    module.__all__ = [name for name in names if name in vars(module)]
    module.__dir__ = lambda: list(vars(module))

    def restore() -> None:
        module.__all__, module.__dir__ = names, listed

    return restore
