"""Board of a study: an append-only list of messages, in memory, in a folder, or behind HTTP.

The coordinator relays shares and cannot read them: each is sealed for one site, and every message of a site is signed.
Sites only make outgoing connections. The server speaks plain HTTP on the address that it is given; between machines it
belongs behind a TLS proxy, like the application (docs/sites.md).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

from pmtcore.base.messages import InputError, SiteMessage, StudyError, StudyFault, reraised_as
from pmtcore.base.strict_json import Json, parse_json_object
from pmtcore.sites import seals
from pmtcore.sites.study import Study

SITE_KINDS = ("here", "share", "ready", "sum", "done", "failed")
_TEXT_FIELDS = ("study", "sender", "kind", "to", "body", "signature")
COORDINATOR_KINDS = ("begin", "stop")
EVERYTHING = "*"  # a reader who receives all messages, without being able to open sealed ones
_MOST_BYTES = 64 * 2**20  # of one message: a moment of 2,000 columns takes 32 MB
_SECONDS = 30  # for one exchange with the server
_PAGE = 2_000  # messages in one answer


@dataclass(frozen=True)
class BoardMessage:
    """One message.

    Attributes:
        study: the study's digest.
        sender: a site's name; empty: the coordinator.
        to: the only recipient; empty: everybody.
        attempt, step: number of the attempt, which has its own list of sites, and of the pass of the method.
        body: base64 or a short text, by kind.
        signature: of the sender over all other fields; the coordinator has none.
    """

    study: str
    sender: str
    kind: str
    attempt: int = 0
    step: int = 0
    to: str = ""
    body: str = ""
    signature: str = ""

    @property
    def signed_bytes(self) -> bytes:
        """Return the bytes that the signature covers."""
        return json.dumps({**vars(self), "signature": ""}, sort_keys=True).encode()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Json]) -> BoardMessage:
        """Return the message of these plain fields.

        Raises:
            StudyError: another form.
        """
        with reraised_as(StudyError(StudyFault.FORGED)):
            counts = [fields["attempt"], fields["step"]]
            attempt, step = (count for count in counts if type(count) is int and 0 <= count < 2**31)
            study, sender, kind, to, body, signature = (str(fields[name]) for name in _TEXT_FIELDS)
            return cls(study, sender, kind, attempt, step, to, body, signature)


def require_genuine(message: BoardMessage, study: Study) -> None:
    """Raise unless the message belongs to this study and its sender signed it.

    Raises:
        StudyError: it does not, or somebody else wrote it.
    """
    kinds = SITE_KINDS if message.sender else COORDINATOR_KINDS
    if message.study != study.digest or message.kind not in kinds:
        raise StudyError(StudyFault.FORGED, message.sender)
    if message.sender:
        seals.require_signature(message.signed_bytes, message.signature, study.site(message.sender).verify)


class Board(Protocol):
    """A list of messages that only grows."""

    def post(self, message: BoardMessage) -> None:
        """Append a message."""

    def read(self, after: int, reader: str) -> tuple[list[BoardMessage], int]:
        """Return the messages for a reader from a position on, and the position to read from next."""


def _is_for(message: BoardMessage, reader: str) -> bool:
    return reader == EVERYTHING or message.to in ("", reader)


class MemoryBoard:
    """A board in one process; ``messages`` is the transcript."""

    def __init__(self) -> None:
        self.messages: list[BoardMessage] = []
        self._lock = threading.Lock()

    def post(self, message: BoardMessage) -> None:
        """See :class:`Board`."""
        with self._lock:
            self.messages.append(message)

    def read(self, after: int, reader: str) -> tuple[list[BoardMessage], int]:
        """See :class:`Board`."""
        until = min(len(self.messages), after + _PAGE)
        return [message for message in self.messages[after:until] if _is_for(message, reader)], until


class FolderBoard:
    """A board in a folder that all parties share, one file for each message, for institutions without connections.

    Raises:
        InputError: there is no such folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise InputError(SiteMessage.NO_BOARD, place=str(folder))
        self._last = 0

    def post(self, message: BoardMessage) -> None:
        """See :class:`Board`. A message appears completely or not at all, under the first free number."""
        text = json.dumps(vars(message))
        draft = self._folder / f".{os.getpid()}-{threading.get_ident()}-{os.urandom(4).hex()}"
        draft.write_text(text)
        try:
            while True:
                try:
                    os.link(draft, self._file(self._last))
                    return
                except FileExistsError:
                    self._last += 1
        finally:
            draft.unlink()

    def read(self, after: int, reader: str) -> tuple[list[BoardMessage], int]:
        """See :class:`Board`."""
        messages, at = [], after
        while at < after + _PAGE and self._file(at).is_file():
            message = _message_of(self._file(at).read_bytes())
            if message is not None and _is_for(message, reader):
                messages.append(message)
            at += 1
        return messages, at

    def _file(self, at: int) -> Path:
        return self._folder / f"{at:010d}.json"


def _message_of(data: bytes) -> BoardMessage | None:
    """Return the message in the bytes of a file; ``None`` where they are no message."""
    try:
        return BoardMessage.from_dict(parse_json_object(data))
    except ValueError:
        return None


class HttpBoard:
    """The board behind a coordinator's address.

    Raises:
        StudyError: nobody answers there.
    """

    def __init__(self, address: str) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise StudyError(StudyFault.UNREACHABLE)
        self._address = address.rstrip("/")

    def post(self, message: BoardMessage) -> None:
        """See :class:`Board`."""
        self._ask("/messages", json.dumps(vars(message)).encode())

    def read(self, after: int, reader: str) -> tuple[list[BoardMessage], int]:
        """See :class:`Board`."""
        answer = self._ask(f"/messages?after={after}&reader={reader}")
        return [BoardMessage.from_dict(fields) for fields in answer["messages"]], int(answer["next"])

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        request = Request(self._address + path, body, {"Content-Type": "application/json"})  # noqa: S310  # checked above
        try:
            with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                return parse_json_object(answer.read())
        except HTTPError as error:
            error.close()
            raise StudyError(StudyFault.UNREACHABLE) from None
        except (URLError, OSError, ValueError):
            raise StudyError(StudyFault.UNREACHABLE) from None


@contextmanager
def serve_board(board: Board, study: Study, host: str, port: int) -> Iterator[str]:
    """Serve a board over HTTP for as long as the block runs, and give its address.

    The server accepts only messages signed by the study's sites; the coordinator posts to the board directly.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            message = _message_of(self.rfile.read(length)) if 0 < length <= _MOST_BYTES else None
            try:
                if message is None or not message.sender:
                    raise StudyError(StudyFault.FORGED)
                require_genuine(message, study)
            except StudyError:
                self._answer(400, {})
                return
            board.post(message)
            self._answer(200, {})

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            try:
                after, reader = int(query["after"][0]), query.get("reader", [""])[0]
            except (KeyError, ValueError):
                self._answer(400, {})
                return
            messages, until = board.read(max(after, 0), reader)
            self._answer(200, {"messages": [vars(message) for message in messages], "next": until})

        def _answer(self, status: int, fields: dict[str, Any]) -> None:
            data = json.dumps(fields).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log nothing: the board is the log."""

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://{server.server_address[0]!s}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
