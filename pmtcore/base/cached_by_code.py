"""Results on disk that hold for one input and one version of the code."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pmtcore.base.paths import write_cached


def cached_by_code(path: Path, compute: Callable[[], Any]) -> Any:  # noqa: ANN401  # as the computation returns it
    """Return what a computation of plain JSON values returned earlier with the same code, or compute and store it.

    Args:
        path: file of the result; its name has to tell the input, as by a digest.
        compute: computation, which depends on nothing else. A result that JSON would change is not stored.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored = json.loads(path.read_bytes())
        if stored["code"] == _code_digest():
            return stored["result"]
    result = compute()
    with suppress(TypeError, ValueError):
        text = json.dumps({"code": _code_digest(), "result": result}, allow_nan=False)
        if json.loads(text)["result"] == result:
            write_cached(path, text)
    return result


@cache
def _code_digest() -> str:
    """Return a digest of this package's code and texts, and of the versions of numpy and scipy."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256(f"{metadata.version('numpy')} {metadata.version('scipy')}".encode())
    for path in sorted(path for end in ("*.py", "*.toml") for path in root.rglob(end)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
