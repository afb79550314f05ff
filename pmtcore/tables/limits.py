"""Limits on the size of tables, all in one place and stated before anything is read.

Limits look at the shape of a file (bytes, rows, columns), which is public, never at a cell; a cell or a line beyond
its own limit is unreadable, and so missing.
"""

from pmtcore.base.memory import memory_limit
from pmtcore.base.messages import InputError, TableMessage, TableNote

MAX_UPLOAD_MB = 200  # of one file in the browser
MAX_BYTES = 512 * 2**20  # unpacked, of a table held in memory: uploads, public tables, gzip'ed Parquet
MAX_COLUMNS = 2000  # a moment of so many columns takes 32 MB, its factorization seconds
MAX_CELLS = 60_000_000  # of a table held in memory; forest cover type has 32 million
MAX_FEATURES = 2000  # columns of the design; proofs/noise.md, 14, has room for 4000
MAX_NAME = 200  # characters of a name that is used: what a record keeps and a table heading shows
MAX_LEVELS = 50  # categories of a column that nobody declared
CHUNK = 2**22  # bytes of text parsed at a time
PARQUET_BUFFER = 2**18  # bytes of a column of a Parquet file read at a time; without it whole row groups are held
BLOCK_ROWS = 32_768  # rows handed to a method at a time, at most
BLOCK_CELLS = 2**20  # numbers in such a block, at most
KEPT_BYTES = 256 * 2**20  # numbers kept between passes, of a table whose text lies in memory anyway
LINE = 2**20  # bytes of a line of text; a longer one is a row that cannot be read
SPAN = LINE  # bytes of a row of text that has line breaks inside quotes
# A number beyond it is no measurement: missing. Fourth powers of numbers within, and their sums, are still numbers.
LARGEST = 1e60
SMALLEST = 1e-16  # a feature of no larger public number is left out: beside others, rounding would decide its fit
MAX_RUNS = 500_000  # releases that one comparison repeats: methods times places times trials; hours on one core
MAX_WORK = 10**14  # the same times rows times columns squared, where each is a fit of its own; about a day
MAX_RUNNING = 8  # comparisons, audits and figures that a server computes at a time: more would only slow each other
MAX_SESSIONS = 200  # open browser sessions: a session on the demo holds some MB
MAX_SESSION_BYTES = 600 * 2**20  # uploads that one session holds: two tables, and one more to replace one
MAX_SERVER_BYTES = 4 * 2**30  # uploads of all sessions together, where there is memory for them
UPLOAD_SHARE = 0.25  # of the memory: reading a file takes as much again (measured: 1.0), and half is for work

MAX_UNSIGNED = MAX_SESSIONS // 2  # sessions of people without a role: the other half is for those who have one
MAX_ADDRESS_SESSIONS = 20  # of these, from one address
MAX_PERSON_SESSIONS = 20  # of one person who signed in
MAX_PERSON_RUNNING = 3  # long runs of one person who signed in


def server_bytes() -> int:
    """Return how many bytes of uploads all sessions together may hold, by the memory there is."""
    return min(MAX_SERVER_BYTES, int(memory_limit() * UPLOAD_SHARE))


def in_words() -> str:
    """Describe the limits, for whoever is about to choose a file."""
    cells, unpacked, session = MAX_CELLS // 10**6, MAX_BYTES // 2**20, MAX_SESSION_BYTES // 2**20
    return TableNote.LIMITS.sentence(megabytes=unpacked, limit=MAX_COLUMNS, count=cells, total=session)


def block_rows(columns: int) -> int:
    """Return rows of a block of this many columns."""
    return max(256, min(BLOCK_ROWS, BLOCK_CELLS // max(columns, 1)))


def check_runs(runs: int, each: int = 0) -> None:
    """Refuse a comparison that nobody would wait for.

    Args:
        runs: releases in all.
        each: rows times columns squared, where every run is a fit of its own; 0 where runs share their work.

    Raises:
        InputError: too many.
    """
    if runs > MAX_RUNS:
        raise InputError(TableMessage.TOO_MANY_RELEASES, count=runs, limit=MAX_RUNS)
    if runs * each > MAX_WORK:
        most = max(MAX_WORK // each, 1)
        raise InputError(TableMessage.TOO_MANY_FITS, count=runs, limit=most)
