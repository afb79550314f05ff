"""Limits on the size of tables.

They depend on the shape of a file (bytes, rows, columns), which is public, and not on cells; a cell or a line longer
than its limit is missing.
"""

from pmtcore.base.memory import memory_limit
from pmtcore.base.messages import InputError, TableMessage, TableNote

MAX_UPLOAD_MB = 200  # of one file in the browser
MAX_BYTES = 512 * 2**20  # unpacked, of a table held in memory: uploads, public tables, gzip'ed Parquet
MAX_COLUMNS = 2000  # a moment of so many columns takes 32 MB, its factorization seconds
MAX_CELLS = 60_000_000  # of a table held in memory; forest cover type has 32 million
MAX_FEATURES = 2000  # columns of the design; proofs/noise.md, 14, has room for 4000
MAX_NAME = 200  # characters of a name that is used, which records and table headings have
MAX_LEVELS = 50  # categories of a column without declared levels
CHUNK = 2**22  # bytes of text parsed at a time
PARQUET_BUFFER = 2**18  # bytes of a column of a Parquet file read at a time; otherwise row groups would be in memory
BLOCK_ROWS = 32_768  # most rows of a block
BLOCK_CELLS = 2**20  # most numbers of a block
KEPT_BYTES = 256 * 2**20  # bytes of numbers that are cached between passes, for a table whose text is in memory
LINE = 2**20  # bytes of a line of text; a longer one is a row that cannot be read
SPAN = LINE  # bytes of a row of text with line breaks in quotes
# A larger number is missing. Fourth powers of smaller ones, and their sums, are finite.
LARGEST_NUMBER = 1e60
# A feature whose public numbers are all smaller is left out: its effect would be rounding error.
SMALLEST_FEATURE = 1e-16
MAX_RUNS = 500_000  # releases that one comparison repeats: methods times places times trials; hours on one core
MAX_WORK = 10**14  # the same times rows times columns squared, where each is a fit of its own; about a day
MAX_RUNNING = 8  # comparisons, audits and figures that a server computes at a time
MAX_SESSIONS = 200  # open browser sessions: a session on the demo holds some MB
MAX_SESSION_BYTES = 600 * 2**20  # uploads of one session: two tables, and a third to replace one
MAX_SERVER_BYTES = 4 * 2**30  # uploads of all sessions together, where there is memory for them
UPLOAD_SHARE = 0.25  # of the memory: reading a file takes as much again (measured: 1.0), and half is left for computing

MAX_UNSIGNED = MAX_SESSIONS // 2  # sessions of people without a role: the other half is for those who have one
MAX_ADDRESS_SESSIONS = 20  # of these, from one address
MAX_PERSON_SESSIONS = 20  # of one person who signed in
MAX_PERSON_RUNNING = 3  # long runs of one person who signed in


def server_bytes() -> int:
    """Return the most bytes of uploads of all sessions together, given the memory."""
    return min(MAX_SERVER_BYTES, int(memory_limit() * UPLOAD_SHARE))


def in_words() -> str:
    """Describe the limits, beside the choice of a file."""
    cells, unpacked, session = MAX_CELLS // 10**6, MAX_BYTES // 2**20, MAX_SESSION_BYTES // 2**20
    return TableNote.LIMITS.sentence(megabytes=unpacked, limit=MAX_COLUMNS, count=cells, total=session)


def block_rows(columns: int) -> int:
    """Return the most rows of a block of this many columns."""
    return max(256, min(BLOCK_ROWS, BLOCK_CELLS // max(columns, 1)))


def check_runs(runs: int, each: int = 0) -> None:
    """Check the size of a comparison.

    Args:
        runs: total number of releases.
        each: rows times columns squared, where every release is a fit of its own; 0 where releases share their work.

    Raises:
        InputError: it would take too long.
    """
    if runs > MAX_RUNS:
        raise InputError(TableMessage.TOO_MANY_RELEASES, count=runs, limit=MAX_RUNS)
    if runs * each > MAX_WORK:
        most = max(MAX_WORK // each, 1)
        raise InputError(TableMessage.TOO_MANY_FITS, count=runs, limit=most)
