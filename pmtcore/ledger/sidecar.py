"""Files of a ledger outside its database: its key, the newest head, space for one record, and a lock.

Beside an SQLite file lie ``.key`` (or ``.lock``, where the key is elsewhere), ``.head`` and for a moment ``.room``; for
a server they lie in the user's data folder, under a digest of its address. The key seals every event, so that whoever
can write to the database alone cannot forge one. The head says how far the log had come, so that a log cut short, an
older copy or a deleted file is noticed; for a file it also holds the file's digest. ``PMT_LEDGER_KEY`` gives the key
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

from pmtcore.base.strict_json import parsed

try:
    import fcntl
except ImportError:  # not a POSIX system: the database's own lock has to do
    fcntl = None  # type: ignore[assignment]

WAIT_SECONDS = 60  # longer than fifty writers at one file take
_NOTING = Lock()  # threads of one process; a server's ledger has no lock of a file
_STEP = 0.005  # seconds between two tries for the lock: far below the time of one write
_JOURNAL_ROOM = 32 * 1024  # bytes: a rollback journal of eight pages, what one record changes beside new ones


@dataclass(frozen=True)
class Head:
    """Newest event of the log when it was noted: its number, its hash, and the digest of the file it is in."""

    seq: int
    hash: str
    file: str = ""


def data_folder() -> Path:
    """Return the folder of the user's own data."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "second-moment"


class LedgerSidecar:
    """The files beside one ledger.

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
        """Return the files beside the ledger, whether or not they are there."""
        return self.key_file, self._head_file, self._room_file, self._lock_file

    def key(self, *, make: bool) -> bytes | None:
        """Return the key that seals events; ``None`` where there is none and none is to be made.

        Raises:
            OSError: the key's file cannot be made.
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
        """Exclude all other processes that use this ledger's file; a server has a lock of its own.

        Raises:
            TimeoutError: another process held it for a minute.
        """
        lock = None if self.file is None else self._lock()
        if lock is None:
            yield
            return
        with os.fdopen(lock, "rb") as file:
            _wait(file.fileno())
            yield

    def _lock(self) -> int | None:
        """Return the file to lock: the key's, or one for this alone where the key comes from elsewhere."""
        if self.key_file.is_file():
            return os.open(self.key_file, os.O_RDONLY)
        with suppress(OSError):  # a folder that cannot be written to has no writers either
            return os.open(self._lock_file, os.O_RDONLY | os.O_CREAT, 0o600)
        return None

    def head(self) -> Head | None:
        """Return the head noted last; ``None`` where there is no note.

        Raises:
            ValueError: the note cannot be read.
        """
        try:
            fields = parsed(self._head_file.read_bytes())
            head = Head(fields["seq"], fields["hash"], fields.get("file", ""))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            head = None
        if head is None or type(head.seq) is not int or head.seq < 0 or {type(head.hash), type(head.file)} != {str}:
            raise ValueError("the note of the head cannot be read")
        return head

    def note(self, seq: int, hash: str, *, settled: bool = True) -> None:
        """Note the head; where that fails the older note stays, and the next start checks everything.

        Args:
            seq: number of the last event.
            hash: of the last event.
            settled: false before a write: a process killed in it may leave other bytes where the database keeps none
                of its own (free pages are not put back), so the file's digest then says nothing.
        """
        with suppress(OSError, ValueError), _NOTING:
            last = self.head()
            if self.file is None and last is not None and last.seq > seq:
                return
            self._head_file.parent.mkdir(parents=True, exist_ok=True)  # a server's key may come from elsewhere
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
        """Begin the notes anew from this head."""
        self._head_file.unlink(missing_ok=True)
        self.note(seq, hash)

    def digest(self) -> str:
        """Return the digest of the database's file, empty for a server or a file that is in use some other way."""
        if self.file is None or not self.file.is_file() or self.file.with_name(self.file.name + "-wal").exists():
            return ""
        with self.file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def reserve_space(self, size: int) -> None:
        """Take the disk space that the journal of one record needs, so that it is there after the spend.

        Raises:
            OSError: there is none.
        """
        if self.file is None:
            return
        with self._room_file.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, _JOURNAL_ROOM + size)

    def free_space(self) -> None:
        """Hand that space to the record."""
        if self.file is not None:
            with suppress(OSError):
                self._room_file.unlink(missing_ok=True)


def seal(key: bytes, text: str) -> str:
    """Return the authentication code of a text, which only a holder of the key can compute."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _wait(descriptor: int) -> None:
    """Wait for the lock of an open file.

    Raises:
        TimeoutError: another process held it for a minute.
        OSError: the file system has no locks, as some network shares have none.
    """
    if fcntl is None:
        return
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except (BlockingIOError, PermissionError, InterruptedError):  # somebody else has it
            if time.monotonic() > until:
                raise TimeoutError("locked by another process") from None
            time.sleep(_STEP)
