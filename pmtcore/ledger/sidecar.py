"""Files of a ledger outside its database: its key, the newest head, reserved disk space, and a lock.

Beside an SQLite file are ``.key`` (or ``.lock``, where the key is elsewhere), ``.head`` and during a release ``.room``;
for a server they are in the user's data folder, named by a digest of its address. The key seals every event, so that
write access to the database alone does not suffice to forge one. The noted head shows whether a log was cut short,
replaced by an older copy or deleted; for an SQLite file it also has the file's digest. ``PMT_LEDGER_KEY`` gives the key
where several machines share one server.
"""

import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pmtcore.base.strict_json import parse_json

try:
    import fcntl
except ImportError:  # not a POSIX system: only the database's own lock is used
    fcntl = None  # type: ignore[assignment]

WAIT_SECONDS = 60  # longest wait for the lock of a file; fifty writers take less
_NOTE_LOCK = Lock()  # between threads of one process: the ledger of a server has no lock of a file
_RETRY_SECONDS = 0.005  # between two tries for the lock: far below the time of one write
_JOURNAL_SIZE = 32 * 1024  # bytes of a rollback journal of eight pages, those that one record changes


@dataclass(frozen=True)
class Head:
    """Newest event of the log: its number, its hash, and the digest of the ledger's file when it was noted."""

    seq: int
    hash: str
    file: str = ""


def data_folder() -> Path:
    """Return the folder for this program's data of the user."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "second-moment"


class LedgerSidecar:
    """Files beside one ledger.

    Args:
        file: the SQLite file, or ``None`` for a server.
        place: the address of the ledger, without a password.
    """

    def __init__(self, file: Path | None, place: str) -> None:
        self.file = file
        stem = data_folder() / hashlib.sha256(place.encode()).hexdigest()[:16] if file is None else file
        self.key_file, self._head_file, self._room_file, self._lock_file = (
            stem.with_name(stem.name + end) for end in (".key", ".head", ".room", ".lock")
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the paths beside the ledger, whether or not the files exist."""
        return self.key_file, self._head_file, self._room_file, self._lock_file

    def key(self, *, make: bool) -> bytes | None:
        """Return the key that seals events; ``None`` where there is none and ``make`` is false.

        Args:
            make: whether a missing key is created.

        Raises:
            OSError: the key's file cannot be created.
        """
        given = os.environ.get("PMT_LEDGER_KEY", "").strip()
        if given:
            return hashlib.sha256(given.encode()).digest()
        if not make:
            key_text = self.key_file.read_bytes().strip() if self.key_file.is_file() else b""
            return hashlib.sha256(key_text).digest() if key_text else None
        if self.file is None:
            self.key_file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(self.key_file, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            _wait(file.fileno())
            key_text = file.read().strip()
            if not key_text:
                key_text = os.urandom(32).hex().encode()
                file.write(key_text + b"\n")
                file.flush()
                os.fsync(file.fileno())
        return hashlib.sha256(key_text).digest()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude all other processes that use this ledger's file. For a server, nothing is locked.

        Raises:
            TimeoutError: another process held the lock for a minute.
        """
        descriptor = None if self.file is None else self._open_lock_file()
        if descriptor is None:
            yield
            return
        with os.fdopen(descriptor, "rb") as file:
            _wait(file.fileno())
            yield

    def _open_lock_file(self) -> int | None:
        """Return the descriptor of the file to lock: the key's, or one of its own where the key is elsewhere."""
        if self.key_file.is_file():
            return os.open(self.key_file, os.O_RDONLY)
        with suppress(OSError):  # in a folder without write access there are no writers to exclude
            return os.open(self._lock_file, os.O_RDONLY | os.O_CREAT, 0o600)
        return None

    def head(self) -> Head | None:
        """Return the noted head; ``None`` where there is no note.

        Raises:
            ValueError: the note cannot be read.
        """
        try:
            fields = parse_json(self._head_file.read_bytes())
            head = Head(fields["seq"], fields["hash"], fields.get("file", ""))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            head = None
        if head is None or type(head.seq) is not int or head.seq < 0 or {type(head.hash), type(head.file)} != {str}:
            raise ValueError("the note of the head cannot be read")
        return head

    def note(self, seq: int, hash: str, *, settled: bool = True) -> None:
        """Note the head. Where that fails the older note stays.

        Args:
            seq: number of the newest event.
            hash: of the newest event.
            settled: whether the file's digest is noted too. Not before a write: a process killed during it may leave
                other bytes in free pages, which are not restored.
        """
        with suppress(OSError, ValueError), _NOTE_LOCK:
            earlier = self.head()
            if self.file is None and earlier is not None and earlier.seq > seq:
                return
            self._head_file.parent.mkdir(parents=True, exist_ok=True)  # missing where a server's key is elsewhere
            new = self._head_file.with_name(f"{self._head_file.name}.{os.getpid()}")
            text = json.dumps({"seq": seq, "hash": hash, "file": self.digest() if settled else ""}) + "\n"
            try:
                with new.open("w", encoding="ascii") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                new.replace(self._head_file)
            finally:
                new.unlink(missing_ok=True)

    def reset(self, seq: int, hash: str) -> None:
        """Replace the note by this head, even where it is older."""
        self._head_file.unlink(missing_ok=True)
        self.note(seq, hash)

    def digest(self) -> str:
        """Return the digest of the database's file; empty for a server, a missing file, or one in write-ahead mode."""
        if self.file is None or not self.file.is_file() or self.file.with_name(self.file.name + "-wal").exists():
            return ""
        with self.file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def reserve_space(self, size: int) -> None:
        """Reserve the disk space of one record and its journal, so that it is available after the spend.

        Args:
            size: most bytes of the record.

        Raises:
            OSError: the disk is full.
        """
        if self.file is None:
            return
        with self._room_file.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, _JOURNAL_SIZE + size)

    def free_space(self) -> None:
        """Free the reserved disk space, for the record."""
        if self.file is not None:
            with suppress(OSError):
                self._room_file.unlink(missing_ok=True)


def seal(key: bytes, text: str) -> str:
    """Return the HMAC-SHA-256 of a text under the key."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _wait(descriptor: int) -> None:
    """Wait for the lock of an open file.

    Raises:
        TimeoutError: another process held the lock for a minute.
        OSError: the file system has no locks, as on some network shares.
    """
    if fcntl is None:
        return
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError, InterruptedError):  # another process has it
            if time.monotonic() > until:
                raise TimeoutError("locked by another process") from None
            time.sleep(_RETRY_SECONDS)
