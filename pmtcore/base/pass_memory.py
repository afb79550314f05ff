"""Memory of this process, and what a release may take of it to keep what private rows became between its passes.

A file is read and parsed in each pass unless all its rows fit, so more memory saves time. No bit of a release depends
on it, and whether they fit follows from the numbers of rows and columns alone.
"""

import os
from contextlib import suppress
from pathlib import Path

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# Shares of the memory: of a process that runs one command, and of one that does other work too. Eight running jobs, as
# many as a server has, take a quarter.
_OF_A_COMMAND, _OF_OTHERS = 1 / 8, 1 / 32
# Bytes, at least and at most: a release of a file that does not fit stays below 300 MB, of one that fits below 1.5 GB.
LEAST_KEPT, MOST_KEPT = 96 * 2**20, 2**30
_share = [_OF_OTHERS]


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
    _share[:] = [_OF_A_COMMAND]


def bytes_for_rows(taken: int = 0) -> int:
    """Return the bytes that may be kept between passes: a share of the memory, from 96 MB to 1 GB.

    Args:
        taken: bytes that the rows take in memory already; so many may be kept in any case.
    """
    return max(int(min(max(memory_limit() * _share[0], LEAST_KEPT), MOST_KEPT)), taken)
