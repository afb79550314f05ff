"""How much sessions may ask of a server: uploads in bytes, connections in number; said before a byte is read."""

from __future__ import annotations

import re
from collections import Counter
from threading import Lock

from starlette.types import Scope
from streamlit.runtime import exists, get_instance

from pmtcore.tables.limits import MAX_SERVER_BYTES, MAX_SESSION_BYTES, MAX_SESSIONS

_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+$")
_coming: Counter[str] = Counter()  # bytes of uploads on their way, by session
_open = Counter[str]()  # "sessions": connections that are open
_lock = Lock()


class Refused(Exception):
    """With an HTTP status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def size_of(scope: Scope) -> tuple[str, int] | None:
    """The session and the size of an upload; ``None`` where a request is none.

    Raises:
        Refused: it does not say how long it is.
    """
    found = _UPLOAD.search(scope["path"])
    if found is None or scope["method"] not in ("PUT", "POST"):
        return None
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if not length.isdigit():
        raise Refused(411, "An upload says how long it is.")
    return found[1], int(length)


def admit(session: str, size: int) -> None:
    """Count an upload that is on its way; :func:`done` ends it.

    Raises:
        Refused: with it the session, or all sessions together, would hold too much.
    """
    with _lock:
        kept = held()
        kept.update(_coming)
        if kept[session] + size > MAX_SESSION_BYTES:
            raise Refused(413, f"A session holds at most {MAX_SESSION_BYTES // 2**20} MB of uploads; delete some.")
        if kept.total() + size > MAX_SERVER_BYTES:
            raise Refused(413, "All sessions together hold as much as this server takes; try again later.")
        _coming[session] += size


def done(session: str, size: int) -> None:
    """An upload has come, or has not."""
    with _lock:
        _coming[session] -= size
        if _coming[session] <= 0:
            del _coming[session]


def held() -> Counter[str]:
    """Bytes of uploads by session, where Streamlit keeps them."""
    if not exists():
        return Counter()
    kept = get_instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]  # no public way in 1.67
    return Counter({id: sum(len(file.data) for file in list(files.values())) for id, files in list(kept.items())})


def enter() -> bool:
    """Whether one more session may be open; :func:`leave` ends it."""
    with _lock:
        if _open["sessions"] >= MAX_SESSIONS:
            return False
        _open["sessions"] += 1
        return True


def leave() -> None:
    """A session's connection ended."""
    with _lock:
        _open["sessions"] -= 1
