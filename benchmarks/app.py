"""CPU seconds of the application to a first figure and for each move of Plan's slider, and the memory it releases.

``python -m benchmarks.app`` measures the pages without a browser, as on a warm server: the caches of the process are
filled, and each session is new. ``--memory`` starts a server, opens sessions in Chromium, closes them, and prints the
server's memory before, during and after. ``--wire`` prints the bytes of a first visit. ``--first`` starts a
server and prints, for each page, what the server takes from a new session's request to the message of its first figure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MOVES = (0.5, 2.0, 3.0, 1.5, 0.3)  # places of Plan's slider
SESSIONS = 5
LEFT = 120  # seconds: a minute to come back, and the timer that ends sessions


def cpu(act: Callable[[], object]) -> float:
    """Return the CPU seconds of this process."""
    start = time.process_time()
    act()
    return time.process_time() - start


def scripts_cpu(act: Callable[[], object]) -> float:
    """Clock of the CPU seconds of the app's script, without the test harness."""
    from streamlit.runtime.scriptrunner.script_runner import ScriptRunner  # noqa: PLC0415

    run_script, seconds = ScriptRunner._run_script, [0.0]

    def timed(self: ScriptRunner, *given: object, **named: object) -> None:
        start = time.thread_time()
        try:
            run_script(self, *given, **named)  # type: ignore[arg-type]
        finally:
            seconds[0] += time.thread_time() - start

    ScriptRunner._run_script = timed  # type: ignore[method-assign]
    try:
        act()
    finally:
        ScriptRunner._run_script = run_script  # type: ignore[method-assign]
    return seconds[0]


def explore(session: Callable[[], object]) -> None:
    """Print the CPU seconds of a question to an open record, on the demo."""
    app = session()
    app.switch_page("pages/work/explore.py").run()  # type: ignore[attr-defined]
    next(box for box in app.checkbox if str(box.key).startswith("sure-")).check().run()  # type: ignore[attr-defined]
    next(button for button in app.button if str(button.key).startswith("go-")).click().run()  # type: ignore[attr-defined]
    seconds = []
    for name in ("x1", "x2", "x3", "x4", "y"):
        box = app.selectbox(key="explore-response")  # type: ignore[attr-defined]
        seconds.append(scripts_cpu(box.set_value(name).run))
    median, most = 1000 * statistics.median(seconds), 1000 * max(seconds)
    print(f"Explore: a question takes {median:.0f} CPU ms, at most {most:.0f}")


def pages(table: str) -> None:
    """Print CPU seconds of the first figure, and of the slider on a table with all its columns."""
    from streamlit.testing.v1 import AppTest  # noqa: PLC0415

    from tests.app.walk import prepared  # noqa: PLC0415

    prepared()

    def session() -> AppTest:
        return AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)

    print(f"first figure, first session of a process: {cpu(lambda: session().run()):.2f} CPU s")
    print(f"first figure, a new session on a warm one: {statistics.median(_warm(session)):.2f} CPU s")
    print(f"of it the app's script: {statistics.median([scripts_cpu(session().run) for _ in range(5)]):.2f} CPU s")
    explore(session)
    app = session()
    app.query_params["table"] = table
    print(f"{table}: opened in {cpu(app.run):.2f} CPU s")
    first = cpu(lambda: app.switch_page("pages/work/plan.py").run())
    curves = app.session_state["second_moment"].curves
    print(f"{table}: Plan shows figures after {first:.2f} CPU s, ", end="")
    print(
        f"a line of each method after {cpu(lambda: _fill(curves, curves.all_outlined)):.2f} more, ", end="", flush=True
    )
    print(f"all rungs after {cpu(lambda: _fill(curves)):.2f} more", flush=True)
    moves = [1000 * scripts_cpu(app.select_slider(key="plan-mu").set_value(mu).run) for mu in MOVES]
    print(f"{table}: a move of Plan's slider takes {statistics.median(moves):.0f} CPU ms, at most {max(moves):.0f}")


def _warm(session: Callable[[], object]) -> list[float]:
    return [cpu(lambda: session().run()) for _ in range(5)]  # type: ignore[attr-defined]


def _fill(curves: object, enough: Callable[[], bool] = lambda: False) -> None:
    while not enough() and curves.step():  # type: ignore[attr-defined]
        pass


def resident(pid: int) -> float:
    """Return the memory of a process in MB."""
    line = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(line.group(1)) / 1024 if line else float("nan")


def browser(memory: bool) -> None:
    """Run sessions in a browser: measure their transfers, or the memory that they take and release."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    from tests.e2e.conftest import ARGUMENTS, CHROMIUM, Server  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            if memory:
                _hold(server, chromium)
            else:
                _wire(server, chromium)
                _load(server, chromium)
        finally:
            chromium.close()
            server.stop()


def _wire(server: object, chromium: object) -> None:
    """Print the bytes of a first visit, compressed and uncompressed."""
    page = chromium.new_page()  # type: ignore[attr-defined]
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    moved: dict[str, float] = {"packed": 0.0, "unpacked": 0.0, "scripts": 0.0}
    names: dict[str, str] = {}
    files: dict[str, float] = {}

    def finished(event: dict[str, Any]) -> None:
        name = names.get(event["requestId"], "")
        moved["packed"] += event["encodedDataLength"]
        moved["scripts"] += event["encodedDataLength"] * name.endswith(".js")
        files[name] = event["encodedDataLength"]

    client.on("Network.responseReceived", lambda e: names.update({e["requestId"]: e["response"]["url"].split("?")[0]}))
    client.on("Network.loadingFinished", finished)
    client.on("Network.dataReceived", lambda e: moved.update(unpacked=moved["unpacked"] + e["dataLength"]))
    page.goto(server.url)  # type: ignore[attr-defined]
    page.wait_for_selector(".js-plotly-plot", timeout=120_000)
    page.wait_for_timeout(3000)
    print(f"a first visit: {moved['packed'] / 1e6:.1f} MB over the wire, {moved['unpacked'] / 1e6:.1f} MB unpacked")
    print(f"of it scripts: {moved['scripts'] / 1e6:.2f} MB")
    for name, size in sorted(files.items(), key=lambda pair: -pair[1])[:12]:
        print(f"  {size / 1e3:6.0f} kB {name.rsplit('/', 1)[-1]}")


def _load(server: object, chromium: object) -> None:
    """Print CPU seconds from the request of a new session to its first figure, on a warm server."""
    pid, seconds = server.process.pid, []  # type: ignore[attr-defined]
    for _ in range(SESSIONS):
        start = process_cpu(pid)
        page = chromium.new_context().new_page()  # type: ignore[attr-defined]
        page.goto(server.url)  # type: ignore[attr-defined]
        page.wait_for_selector(".js-plotly-plot", timeout=120_000)
        seconds.append(process_cpu(pid) - start)
    print(f"first figure, a new session on a warm server: {statistics.median(seconds):.2f} CPU s of the server")


def process_cpu(pid: int) -> float:
    """Return the CPU seconds of a process so far, ended threads included."""
    # The clock that clock_getcpuclockid(3) returns for a process.
    return time.clock_gettime(((~pid) << 3) | 2)


def first_figures(table: str) -> None:
    """Print, for each page, the server's CPU seconds up to the message of the first figure, and to the script's end."""
    from tests.e2e.conftest import Server  # noqa: PLC0415

    pages = [path.stem for path in sorted((ROOT / "pages").glob("*/*.py")) if path.parent.name in ("work", "study")]
    query = f"table={table}" if table else ""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            time.sleep(15)  # what the server computes by itself at its start
            for name in ("", *(name for name in pages if name != "start")):
                seconds = [asyncio.run(_to_first_figure(server, name, query)) for _ in range(SESSIONS + 1)]
                figure, script = (statistics.median(column) for column in zip(*seconds[1:], strict=True))
                print(f"{name or 'start'}: first figure {figure:.3f} CPU s, whole script {script:.3f}", end="")
                print(f"; the first session of the server {seconds[0][0]:.2f}", flush=True)
        finally:
            server.stop()


async def _to_first_figure(server: Any, page: str, query: str) -> tuple[float, float]:
    """Return CPU seconds of the server in a new session: to the first figure's message, and to the script's end.

    The first figure of a page without one is its last message.
    """
    import websockets  # noqa: PLC0415
    from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: PLC0415
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: PLC0415

    pid, origin = server.process.pid, server.url
    address = f"{origin.replace('http', 'ws')}/_stcore/stream"
    start, figure = process_cpu(pid), 0.0
    async with websockets.connect(address, subprotocols=["streamlit"], origin=origin, max_size=None) as link:
        request = BackMsg()
        request.rerun_script.page_name, request.rerun_script.query_string = page, query
        await link.send(request.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(await asyncio.wait_for(link.recv(), LEFT))
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") in ("plotly_chart", "imgs"):
                figure = figure or process_cpu(pid) - start
            if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                break
        script = process_cpu(pid) - start
    await asyncio.sleep(1)  # what the session left to do is not the next one's
    return figure or script, script


def _hold(server: object, chromium: object) -> None:
    """Open forest cover type in several sessions, one after the other, then close all."""
    pid, visitors = server.process.pid, []  # type: ignore[attr-defined]
    for address in ("", *("?table=covertype",) * SESSIONS):
        context = chromium.new_context()  # type: ignore[attr-defined]
        page = context.new_page()
        page.goto(f"{server.url}/{address}")  # type: ignore[attr-defined]
        page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']", timeout=300_000)
        page.get_by_text("private rows").first.wait_for(timeout=300_000)
        visitors.append(context)
        print(f"{address or 'the demo'}: {resident(pid):.0f} MB")
    for context in visitors:
        context.close()
    time.sleep(LEFT)
    print(f"all closed, {LEFT} seconds later: {resident(pid):.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", default="adult")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--wire", action="store_true")
    parser.add_argument("--first", action="store_true")
    chosen = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # as the server does; idle threads of a library would count as CPU seconds
    with tempfile.TemporaryDirectory() as place:
        os.environ["PMT_LEDGER"] = str(Path(place) / "ledger.db")
        if chosen.first:
            first_figures(chosen.table)
        elif chosen.memory or chosen.wire:
            browser(chosen.memory)
        else:
            pages(chosen.table)
