"""Forty visitors: ``PYTHONPATH=. python benchmarks/load.py [--sessions 40] [--within 60]``.

Starts a server, opens sessions over its websocket as a browser does, evenly within a minute, and waits for the first
page of each to be drawn. Then all are closed. Prints the times to the first page and the server's memory: idle, at its
peak, and after the sessions were deleted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parents[1]


def memory(pid: int) -> float:
    """Return the resident memory in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def visit(port: int, delay: float, leave: asyncio.Event) -> float:
    """One session: seconds until its first page is there; stays until told to leave."""
    await asyncio.sleep(delay)
    start = time.monotonic()
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    async with websockets.connect(
        address, subprotocols=["streamlit"], origin=f"http://127.0.0.1:{port}", max_size=None
    ) as link:
        request = BackMsg()
        request.rerun_script.query_string = ""
        await link.send(request.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(await link.recv())
            if message.WhichOneof("type") == "script_finished":
                break
        took = time.monotonic() - start
        await leave.wait()
    return took


async def crowd(port: int, pid: int, sessions: int, within: float) -> tuple[list[float], float]:
    """All of them; their times, and the memory while they are there."""
    leave = asyncio.Event()
    visits = [asyncio.create_task(visit(port, within * k / sessions, leave)) for k in range(sessions)]
    await asyncio.sleep(within + 10)
    peak = memory(pid)
    leave.set()
    return list(await asyncio.gather(*visits)), peak


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--within", type=float, default=60.0)
    chosen = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        command += ["--server.address", "127.0.0.1", "--server.disconnectedSessionTTL", "20"]
        env = {**os.environ, "XDG_DATA_HOME": home, "PMT_LEDGER": f"{home}/l.db"}
        server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1)
                    break
                except OSError:
                    time.sleep(0.2)
            asyncio.run(crowd(port, server.pid, 1, 1.0))  # one visitor, so that everything is imported
            time.sleep(60)
            idle = memory(server.pid)
            times, peak = asyncio.run(crowd(port, server.pid, chosen.sessions, chosen.within))
            time.sleep(75)
            after = memory(server.pid)
        finally:
            server.terminate()
            server.wait(20)
    print(f"first page: median {statistics.median(times):.2f} s, slowest {max(times):.2f} s, {len(times)} sessions")
    print(f"memory: idle {idle:.0f} MB, peak {peak:.0f} MB, after {after:.0f} MB ({after / idle - 1:+.0%})")


if __name__ == "__main__":
    main()
