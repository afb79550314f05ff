"""Memory that comes back: uploads deleted where Streamlit keeps them, freed blocks handed to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc

from streamlit.runtime import exists, get_instance

_MMAP_THRESHOLD = -3  # mallopt's name for it
_BLOCK = 128 * 1024  # bytes from which a block of its own is mapped, and goes back as soon as it is free
_ARENA_MAX = -8
_SMALL = [*range(16, 513, 16), *(2**k * j // 4 for k in range(9, 17) for j in (4, 5, 6, 7))]  # sizes of small blocks
_SWEPT = 2 * 2**20  # bytes of each size that are written over


def delete_uploads(session_id: str) -> None:
    """Delete a session's uploads where Streamlit keeps them, and the downloads made from them."""
    if not exists():
        return
    runtime = get_instance()
    runtime.uploaded_file_mgr.remove_session_files(session_id)
    runtime.media_file_mgr.clear_session_refs(session_id)
    runtime.media_file_mgr.remove_orphaned_files()


def give_back() -> None:
    """Collect what nobody refers to, and hand free memory to the system, which wipes it."""
    gc.collect()
    with contextlib.suppress(ImportError):
        import pyarrow as pa  # noqa: PLC0415

        pa.default_memory_pool().release_unused()
    for size in _SMALL:  # what is too small to go back is written over
        kept = [bytes(size) for _ in range(min(_SWEPT // size, 20_000))]
        del kept
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def map_large_blocks() -> None:
    """Let each large block be mapped on its own, whatever was freed before: the C library would learn otherwise."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_MMAP_THRESHOLD, _BLOCK)
        library.mallopt(_ARENA_MAX, 1)  # one heap for all threads: what one frees another writes over
