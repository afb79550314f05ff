"""How much sessions may ask of a server: uploads in bytes, connections in number; said before a byte is read."""

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
_coming: Counter[str] = Counter()  # bytes of uploads on their way, by session
_open = Counter[str]()  # connections that are open: "all", "unsigned", and those of each person and address
_lock = Lock()
_DIGITS = 15  # of a length: a petabyte


class Refused(Exception):
    """With an HTTP status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def size_of(scope: Scope) -> tuple[str, int] | None:
    """Return the session and the size of an upload; ``None`` where a request is none.

    Raises:
        Refused: it does not say how long it is, or says it in two ways, of which a server may believe either.
    """
    upload = _UPLOAD.search(scope["path"])
    if upload is None or scope["method"] not in ("PUT", "POST"):
        return None
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if any(name == b"transfer-encoding" for name, _ in scope["headers"]) or len(lengths) > 1:
        raise Refused(400, "An upload says once how long it is.")
    if not lengths or not lengths[0].isdigit() or len(lengths[0]) > _DIGITS:
        raise Refused(411, "An upload says how long it is.")
    return upload[1], int(lengths[0])


def no_longer_than(size: int, receive: Receive) -> Receive:
    """Return a receiver of a request that stops where the request is longer than it said.

    Raises:
        Refused: from the receiver.
    """
    left = size

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise Refused(413, "The upload is longer than it said.")
        return message

    return limited


def admit(session: str, size: int) -> None:
    """Count an upload that is on its way; :func:`done` ends it.

    Raises:
        Refused: with it the session, or all sessions together, would hold too much.
    """
    with _lock:
        sizes = stored()
        sizes.update(_coming)
        if sizes[session] + size > MAX_SESSION_BYTES:
            raise Refused(413, f"A session takes at most {MAX_SESSION_BYTES // 2**20} MB of uploads; delete some.")
        if sizes.total() + size > server_bytes():
            raise Refused(413, "All sessions together have as much as this server takes; try again later.")
        _coming[session] += size


def done(session: str, size: int) -> None:
    """Note that an upload has come, or has not."""
    with _lock:
        _coming[session] -= size
        if _coming[session] <= 0:
            del _coming[session]


def stored() -> Counter[str]:
    """Return bytes of uploads by session, where Streamlit keeps them."""
    if not exists():
        return Counter()
    storage = get_instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]  # no public way in 1.67
    return Counter({id: sum(len(file.data) for file in list(files.values())) for id, files in list(storage.items())})


def enter(visitor: Visitor) -> bool:
    """Return whether a visitor may have one more session open; :func:`leave` ends it.

    Nobody fills the server alone: a person and an address have a share, and half of all places are for people with a
    role, so that whoever has none cannot keep them out.
    """
    with _lock:
        if any(_open[name] >= most for name, most in _shares(visitor).items()):
            return False
        _open.update(_shares(visitor).keys())
        return True


def leave(visitor: Visitor) -> None:
    """Give a visitor's place up."""
    with _lock:
        _open.subtract(_shares(visitor).keys())
        for name in [name for name, count in _open.items() if count <= 0]:
            del _open[name]


def _shares(visitor: Visitor) -> dict[str, int]:
    """Return the limits that a session counts towards: the name of each, and the most sessions it allows."""
    everybody = {"all": MAX_SESSIONS}
    if not visitor.address:
        return everybody
    if visitor.actor.role is not None:
        return everybody | {f"person {visitor.actor.name}": MAX_PERSON_SESSIONS}
    return everybody | {"unsigned": MAX_UNSIGNED, f"address {visitor.address}": MAX_ADDRESS_SESSIONS}
