"""Paths of the project's own files, in the source tree or installed beside the package."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def application_folder() -> Path | None:
    """Return the folder of ``app.py``; ``None`` where only the package is installed."""
    for folder in (_PACKAGE.parent, _PACKAGE.parent / "second_moment_app"):
        if (folder / "app.py").is_file() and (folder / "pages" / "elements").is_dir():
            return folder
    return None


def assets_folder() -> Path:
    """Return the folder of the demo tables and the gallery's figures, whether it exists or not."""
    return (application_folder() or _PACKAGE.parent) / "assets"


def proofs_folder() -> Path:
    """Return the folder of the pages that prove guarantees, whether it exists or not."""
    return (application_folder() or _PACKAGE.parent) / "docs" / "proofs"


def write_cached(path: Path, text: str) -> bool:
    """Write a file whole or not at all, for a later visit; ``False`` where that is not possible."""
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError:
        return False
    return True


def cache_directory() -> Path:
    """Return the folder of recomputed figures: ``PMT_GALLERY_DIR``, or the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("PMT_GALLERY_DIR") or Path(home) / "second-moment" / "gallery")
