"""Limits of a server on the bytes of uploads and the number of connections, checked before a request is read."""

import re
from collections import Counter
from threading import Lock

from starlette.types import Message, Receive, Scope
from streamlit.runtime import exists, get_instance

from pages.elements.visitors import Visitor
from pmtcore.tables.limits import (
    MAX_ADDRESS_SESSIONS,
    MAX_PERSON_SESSIONS,
    MAX_SESSION_BYTES,
    MAX_SESSIONS,
    MAX_UNSIGNED,
    server_bytes,
)

_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
_arriving: Counter[str] = Counter()  # bytes of uploads that are arriving, by session
_connections = Counter[str]()  # connections that are open: "all", "unsigned", and those of each person and address
_lock = Lock()
_DIGITS = 15  # most digits of a length: a petabyte


class Refused(Exception):
    """Refusal of a request, with an HTTP status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def size_of(scope: Scope) -> tuple[str, int] | None:
    """Return the session and the size of an upload; ``None`` for another request.

    Raises:
        Refused: its length is not stated, or stated twice, since servers may differ in which they use.
    """
    upload = _UPLOAD.search(scope["path"])
    if upload is None or scope["method"] not in ("PUT", "POST"):
        return None
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]) or len(lengths) > 1:
        raise Refused(400, "An upload must state its length once.")
    if not lengths or not lengths[0].isdigit() or len(lengths[0]) > _DIGITS:
        raise Refused(411, "An upload must state its length.")
    return upload[1], int(lengths[0])


def no_longer_than(size: int, receive: Receive) -> Receive:
    """Return the receiver of a request that refuses more bytes than were stated.

    Raises:
        Refused: from the receiver.
    """
    remaining = size

    async def limited() -> Message:
        nonlocal remaining
        message = await receive()
        remaining -= len(message.get("body", b""))
        if remaining < 0:
            raise Refused(413, "The upload is longer than it stated.")
        return message

    return limited


def admit(session: str, size: int) -> None:
    """Count an arriving upload, until :func:`upload_ended`.

    Raises:
        Refused: the session, or all sessions together, would have too many bytes.
    """
    with _lock:
        sizes = stored_bytes()
        sizes.update(_arriving)
        if sizes[session] + size > MAX_SESSION_BYTES:
            raise Refused(413, f"A session takes at most {MAX_SESSION_BYTES // 2**20} MB of uploads; delete some.")
        if sizes.total() + size > server_bytes():
            raise Refused(413, "All sessions together have as much as this server takes; try again later.")
        _arriving[session] += size


def upload_ended(session: str, size: int) -> None:
    """Note that an upload has arrived or failed."""
    with _lock:
        _arriving[session] -= size
        if _arriving[session] <= 0:
            del _arriving[session]


def stored_bytes() -> Counter[str]:
    """Return the bytes of stored uploads by session."""
    if not exists():
        return Counter()
    storage = get_instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]  # no public way in 1.67
    return Counter({id: sum(len(file.data) for file in list(files.values())) for id, files in list(storage.items())})


def enter(visitor: Visitor) -> bool:
    """Count one more session of a visitor, until :func:`leave`; return whether it is allowed.

    A person and an address have at most a share of all sessions, and half of them are for people with a role.
    """
    with _lock:
        if any(_connections[name] >= limit for name, limit in _shares(visitor).items()):
            return False
        _connections.update(_shares(visitor).keys())
        return True


def leave(visitor: Visitor) -> None:
    """End the count of a visitor's session."""
    with _lock:
        _connections.subtract(_shares(visitor).keys())
        for name in [name for name, count in _connections.items() if count <= 0]:
            del _connections[name]


def _shares(visitor: Visitor) -> dict[str, int]:
    """Return the limits that apply to a session: the most sessions, by the name of each limit."""
    everybody = {"all": MAX_SESSIONS}
    if not visitor.address:
        return everybody
    if visitor.actor.role is not None:
        return everybody | {f"person {visitor.actor.name}": MAX_PERSON_SESSIONS}
    return everybody | {"unsigned": MAX_UNSIGNED, f"address {visitor.address}": MAX_ADDRESS_SESSIONS}
