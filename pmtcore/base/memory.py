"""Memory of this process: how much a release may keep between its passes, and how freed memory is wiped.

Freed blocks are handed to the system, and written over where they stay.

A file is read and parsed in each pass unless all its rows fit, so more memory saves time. No bit of a release depends
on this, and whether the rows fit follows from the numbers of rows and columns alone.
"""

import contextlib
import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import ClassVar

_MMAP_THRESHOLD = -3  # mallopt's name for it
_BLOCK = 128 * 1024  # bytes from which a block is mapped separately, and returned to the system once it is free
_ARENA_MAX = -8  # mallopt's name for the number of heaps
_TOP_PAD, _PAD = -2, 128 * 1024  # bytes by which the heap grows beyond a request; the library's default
_POOLED_SIZES = range(16, 513, 16)  # sizes of blocks that Python keeps in pools of its own
_BYTES_OVERWRITTEN = 2 * 2**20  # bytes of each such size that are written over
# Sizes of a free block and of its remainder. A thread keeps some freed blocks of each size up to 1032, and reuses them
# for that size alone.
_SIZES = [int(1.25**k) for k in range(52, 31, -1)] + [*range(1032, 0, -16)]
_LAST_BLOCK_BYTES = 2 * 2**20  # bytes: the last block of each size is beyond the heap's end
_HEADER = 16  # most bytes of a block beyond the requested ones
_PROBE = 4096  # bytes of a block that comes from the thread's heap: a thread keeps smaller ones that it freed itself
_OTHER_HEAP_BIT = 4  # bit of a block's size that is set where it lies in another heap than the process's first
# Bytes; each part of such a heap begins at a multiple, with the address of the heap's owner.
_HEAP_ALIGNMENT = 64 * 2**20
_WORD = ctypes.sizeof(ctypes.c_size_t)
_SIZE_OF_PART = 2 * _WORD  # where a part has its size
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# Shares of the memory: of a process that runs one command, and of one that does other work too. Eight running jobs, as
# many as a server has, take a quarter.
_COMMAND_SHARE, _OTHER_SHARE = 1 / 8, 1 / 32
# Bytes, at least and at most: a release of a file that does not fit stays below 300 MB, of one that fits below 1.5 GB.
LEAST_KEPT, MOST_KEPT = 96 * 2**20, 2**30
_share = [_OTHER_SHARE]


def memory_limit() -> int:
    """Return the bytes of memory that this process may take: its container's limit, or what the machine has.

    0 where the system does not say.
    """
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    for place in _CGROUPS:
        with suppress(OSError, ValueError):
            return min(int(Path(place).read_text(encoding="ascii")), machine)
    return machine


def runs_one_command() -> None:
    """State that this process runs one command, which may take more."""
    _share[:] = [_COMMAND_SHARE]


def bytes_for_rows(bytes_used: int = 0) -> int:
    """Return the bytes that may be kept between passes: a share of the memory, from 96 MB to 1 GB.

    Args:
        bytes_used: bytes that the rows take in memory already; so many may be kept in any case.
    """
    return max(int(min(max(memory_limit() * _share[0], LEAST_KEPT), MOST_KEPT)), bytes_used)


_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Heap(ctypes.Structure):
    """The C library's own account of its heaps (mallinfo2)."""

    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in _FIELDS]


release_due = Event()  # to give memory back at the server's next round too


def release_memory(*, every_heap: bool = True) -> None:
    """Collect what nobody refers to, hand free memory to the system, which wipes it, and write over what stays.

    Args:
        every_heap: other threads' heaps too, besides this thread's own and the small blocks that it freed itself.
    """
    gc.collect()
    with contextlib.suppress(ImportError):
        import pyarrow as pa  # noqa: PLC0415

        pa.default_memory_pool().release_unused()
    for size in _POOLED_SIZES:
        blocks = [bytes(size) for _ in range(min(_BYTES_OVERWRITTEN // size, 20_000))]
        del blocks
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.PyDLL("libc.so.6")
        library.malloc.restype = library.sbrk.restype = ctypes.c_void_p
        library.malloc.argtypes, library.free.argtypes = (ctypes.c_size_t,), (ctypes.c_void_p,)
        library.mallinfo2.restype = _Heap
        library.malloc_trim(0)
        _write_over(library)
        if every_heap:
            _write_over_other_heaps(library)
        library.malloc_trim(0)


def _write_over_other_heaps(library: ctypes.PyDLL) -> None:
    """Write over the free blocks of the heaps that are not this thread's, in threads that have them.

    Threads that began before :func:`map_large_blocks` have heaps of their own, which later threads share. A block can
    only be taken from the heap of the thread that asks. A new thread gets a heap that no thread has now, or else the
    next one of a ring; so as many threads as live beside each other for two rounds meet every heap.
    """
    heaps, reached = _number_of_heaps(library), {_own_heap(library)}
    finished = Event()
    waiting: list[Thread] = []

    def once(written: Event) -> None:
        try:
            heap = _own_heap(library)
            if heap not in reached:
                reached.add(heap)
                _write_over(library)
        finally:
            written.set()
        finished.wait()

    try:
        while len(reached) < heaps and len(waiting) < 2 * heaps:
            written = Event()
            thread = Thread(target=once, args=(written,), daemon=True)
            thread.start()
            waiting.append(thread)
            written.wait()
    finally:
        finished.set()
        for thread in waiting:
            thread.join()


def _number_of_heaps(library: ctypes.PyDLL) -> int:
    """Count the C library's heaps in its own description of them."""
    library.open_memstream.restype = ctypes.c_void_p
    library.malloc_info.argtypes, library.fclose.argtypes = (ctypes.c_int, ctypes.c_void_p), (ctypes.c_void_p,)
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = library.open_memstream(ctypes.byref(text), ctypes.byref(size))
    if not stream:
        return 1
    library.malloc_info(0, stream)
    library.fclose(stream)
    described = ctypes.string_at(text.value, size.value) if text.value else b""
    library.free(text)
    return max(described.count(b"<heap "), 1)


def _own_heap(library: ctypes.PyDLL) -> int:
    """Return which heap this thread has: the address of its owner, or 0 for the process's first."""
    block = library.malloc(_PROBE)
    if not block:
        return 0
    part = _part_of(block)
    library.free(block)
    return _word(part) if part else 0


def _part_of(block: int) -> int:
    """Return where the part of a heap begins in which a block lies, or 0 for the process's first heap."""
    return block // _HEAP_ALIGNMENT * _HEAP_ALIGNMENT if _word(block - _WORD) & _OTHER_HEAP_BIT else 0


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _write_over(library: ctypes.PyDLL) -> None:
    """Take the free blocks of the heap, the largest first and then what is left of them, and write zeros over them.

    For each size it stops at the first block for which the heap grows.
    """
    library.mallopt(_TOP_PAD, 0)
    state = library.mallinfo2()
    left, first = int(state.fordblks + state.fsmblks) + _LAST_BLOCK_BYTES, 0
    ends = {0: library.sbrk(0)}
    for size in _SIZES:
        while left >= size:
            block = library.malloc(size)
            if not block:
                break
            ctypes.memset(block, 0, size)
            # Each block begins with the address of the one before: a list of them would be millions of objects.
            ctypes.c_size_t.from_address(block).value = first
            left, first = left - size - _HEADER, block
            part = _part_of(block)
            end = _word(part + _SIZE_OF_PART) if part else library.sbrk(0)
            known, ends[part] = ends.get(part, end), end
            if known != end:
                break
    while first:
        following = _word(first)
        ctypes.c_size_t.from_address(first).value = 0
        library.free(first)
        first = following
    library.mallopt(_TOP_PAD, _PAD)


def map_large_blocks() -> None:
    """Let the C library map each large block on its own; by default it raises the size from which it does."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_MMAP_THRESHOLD, _BLOCK)
        library.mallopt(_ARENA_MAX, 1)  # later threads share the present heaps, so that there is less to write over
