"""A visitor without a browser: a session over the server's websocket, with widgets by key or label."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_RUN_SECONDS = 300.0  # longest run of a page on a busy machine
_POLL_SECONDS = 0.5  # seconds between two checks of running work
_KINDS = {
    "checkbox": "bool_value",
    "button": "trigger_value",
    "number_input": "double_value",
    "text_input": "string_value",
}


class Visitor:
    """One session. ``async with Visitor(port) as visitor: await visitor.go("release")``."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._page = ""
        self._values: dict[str, tuple[str, Any]] = {}
        self.elements: list[Any] = []

    async def __aenter__(self) -> Visitor:
        self._link = await websockets.connect(
            f"ws://127.0.0.1:{self._port}/_stcore/stream",
            subprotocols=["streamlit"],
            origin=f"http://127.0.0.1:{self._port}",
            max_size=None,
            open_timeout=_RUN_SECONDS,
            ping_timeout=None,
        )
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._link.close()

    async def go(self, page: str) -> None:
        """Open a page."""
        self._page = page
        await self._run()

    async def set(self, kind: str, name: str, value: Any) -> None:
        """Set a checkbox, or click a button, by its key or the start of its label."""
        self._values[self.find(kind, name).id] = (_KINDS[kind], value)
        await self._run()
        self._values = {id: setting for id, setting in self._values.items() if setting[0] != "trigger_value"}

    async def ended(self) -> None:
        """Wait until no work is running on the page; reruns that a browser asks for on a timer are asked for here."""
        while any(element.WhichOneof("type") in ("progress", "spinner") for element in self.elements):
            await asyncio.sleep(_POLL_SECONDS)
            await self._run()

    def find(self, kind: str, name: str) -> Any:
        """Return the widget with this key, or whose label starts with this text."""
        for element in self.elements:
            if element.WhichOneof("type") == kind:
                widget = getattr(element, kind)
                if widget.id.endswith(f"-{name}") or widget.label.startswith(name):
                    return widget
        raise LookupError(f"{kind} {name!r} is not on the page: {self.words()[-2000:]}")

    def words(self) -> str:
        """Return the text on the page."""
        parts = [getattr(e, k).body for e in self.elements if (k := e.WhichOneof("type")) in ("markdown", "alert")]
        return "\n".join(parts)

    async def _run(self) -> None:
        asked = BackMsg()
        asked.rerun_script.page_name = self._page
        for id, (kind, value) in self._values.items():
            state = asked.rerun_script.widget_states.widgets.add()
            state.id = id
            setattr(state, kind, value)
        await self._link.send(asked.SerializeToString())
        again = True
        while again:  # st.rerun() is another run
            self.elements, again = [], False
            while True:
                message = ForwardMsg()
                message.ParseFromString(await asyncio.wait_for(self._link.recv(), _RUN_SECONDS))
                kind = message.WhichOneof("type")
                if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                    self.elements.append(message.delta.new_element)
                if kind == "script_finished":
                    again = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
                    break
