"""Memory that comes back: freed blocks are handed to the system, and written over where they stay."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from threading import Event
from typing import ClassVar

_MMAP_THRESHOLD = -3  # mallopt's name for it
_BLOCK = 128 * 1024  # bytes from which a block of its own is mapped, and goes back as soon as it is free
_ARENA_MAX = -8  # mallopt's name for the number of heaps
_TOP_PAD, _PAD = -2, 128 * 1024  # what the heap grows by beyond what is asked for; the library's own choice
_SMALL = range(16, 513, 16)  # sizes of blocks that Python keeps in pools of its own
_SWEPT = 2 * 2**20  # bytes of each such size that are written over
_SIZES = [int(1.25**k) for k in range(52, 28, -1)] + [*range(512, 0, -16)]  # of a free block and of what is left of it
_SPARE = 2 * 2**20  # bytes: the last block of each size is beyond the heap's end
_HEADER = 16  # bytes of a block beside what was asked for, at most


_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Heap(ctypes.Structure):
    """The C library's own account of its heaps (mallinfo2)."""

    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in _FIELDS]


asked = Event()  # to give memory back at the server's next round too


def give_back() -> None:
    """Collect what nobody refers to, hand free memory to the system, which wipes it, and write over what stays."""
    gc.collect()
    with contextlib.suppress(ImportError):
        import pyarrow as pa  # noqa: PLC0415

        pa.default_memory_pool().release_unused()
    for size in _SMALL:
        blocks = [bytes(size) for _ in range(min(_SWEPT // size, 20_000))]
        del blocks
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.PyDLL("libc.so.6")
        library.malloc_trim(0)
        _write_over(library)
        library.malloc_trim(0)


def _write_over(library: ctypes.PyDLL) -> None:
    """Take the free blocks of the heap, the largest first and then what is left of them, and write zeros over them.

    No more is taken than is free: a thread may have a heap of its own, whose end this one does not see move.
    """
    library.malloc.restype = library.sbrk.restype = ctypes.c_void_p
    library.malloc.argtypes, library.free.argtypes = (ctypes.c_size_t,), (ctypes.c_void_p,)
    library.mallinfo2.restype = _Heap
    library.mallopt(_TOP_PAD, 0)
    state = library.mallinfo2()
    left, first = int(state.fordblks + state.fsmblks) + _SPARE, 0
    for size in _SIZES:
        end = library.sbrk(0)
        while left >= size and library.sbrk(0) == end:
            block = library.malloc(size)
            if not block:
                break
            ctypes.memset(block, 0, size)
            # Each block begins with the address of the one before: a list of them would be millions of objects.
            ctypes.c_size_t.from_address(block).value = first
            left, first = left - size - _HEADER, block
    while first:
        following = ctypes.c_size_t.from_address(first).value
        ctypes.c_size_t.from_address(first).value = 0
        library.free(first)
        first = following
    library.mallopt(_TOP_PAD, _PAD)


def map_large_blocks() -> None:
    """Let each large block be mapped on its own, whatever was freed before: the C library would learn otherwise."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_MMAP_THRESHOLD, _BLOCK)
        library.mallopt(_ARENA_MAX, 1)  # one heap for all threads: what one frees another writes over
