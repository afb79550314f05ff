"""Time by stage and memory of a release by rows and columns, compared with baselines.

    python benchmarks/scale.py                       # n = 1e4 to 1e7, d = 10 to 200
    python benchmarks/scale.py --rows 1e8 --columns 10 --json
    python benchmarks/scale.py --rows 1e6 --columns 20 --parquet --dask
    python benchmarks/scale.py --page docs/scale.md --picture docs/scale.png --rival .peers/bin/python > lines
    python benchmarks/scale.py --page docs/scale.md --picture docs/scale.png --drawn lines  # not measured again
    python benchmarks/scale.py --rows 1e7 --columns 10 --threads 1 2
    python benchmarks/scale.py --commands --rows 1e6 --columns 11 --threads 1 2
    python benchmarks/scale.py --commands --dask --rows 1e6 4e6 --columns 11
    python benchmarks/scale.py --stages --rows 1e6 --columns 11
    python benchmarks/scale.py --rows 1e5 --columns 10 --rival .peers/bin/python

``--page`` measures all figures of the page, prints them, and writes its tables; ``--picture`` writes its picture.

Each line is a process of its own, so that its peak memory is its own. Beyond ``--in-memory`` rows (1e7) blocks are
made on the fly and the time of making them is told apart. Ratios are of CPU seconds (medians of ``--repeat``) to one
product ``X'X`` of the same rows, and to scikit-learn's ``LinearRegression.fit``, where the table fits into memory; with
``--parquet`` also to reading the needed columns, and with ``--dask`` the wall time on a cluster of two workers, and the
CPU seconds of coordinator and workers for all passes and for the fingerprint. A worker's start-up is in the passes.

``--commands`` measures whole programs, start-up included: a release of the 2,000-row demo and of files of ``--rows`` by
``--columns`` (the response among them) through the command line, ledger and fingerprint included, and what they are
held against: pandas and scikit-learn on the same CSV, pyarrow and one ``X.T @ X`` on the same Parquet. CPU seconds and
peak megabytes are those that the system counts for each program; wall seconds speak of an idle machine only.

``--stages`` runs the same releases in threads and prints, of each stage, the CPU seconds of the calling thread and of
all others, which other processes hardly disturb, and what they say of the wall seconds on more cores: a stage takes as
long as its calling thread, or as all its work shared by the cores, whichever is longer. ``--rival`` names a Python in
which diffprivlib is installed (benchmarks/peers), whose regression is fitted to as many rows.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from clock import median_seconds  # noqa: E402

from pmtcore.accounting.budgets import Budget  # noqa: E402
from pmtcore.base import threads  # noqa: E402
from pmtcore.base.private_rows import PrivateRows  # noqa: E402
from pmtcore.ledger.fingerprint import MOST_HASHED  # noqa: E402
from pmtcore.mechanisms.noise import SecureNoise  # noqa: E402
from pmtcore.methods.registry import make_parameters, method  # noqa: E402
from pmtcore.public.moments import INTERCEPT, public_from_rows  # noqa: E402
from pmtcore.tables.cluster import Cluster  # noqa: E402

BLOCK = 65_536
MECHANISM = ("--target", "y", "--method", "joint-pmt", "--mu", "1", "--dataset", "benchmark")
IN_MEMORY = 10**7  # numbers of this many rows by ten columns are 0.8 GB


def blocks(n: int, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Synthetic rows, the same in every pass: one block is drawn, and scaled differently for each block of rows."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((min(n, BLOCK), d))
    x[:, 0] = 1.0
    slope = rng.standard_normal(d) / np.sqrt(d)
    noise = rng.standard_normal(len(x))
    for start in range(0, n, BLOCK):
        k = min(BLOCK, n - start)
        y = x[:k] @ slope + noise[:k] * (1 + 0.1 * np.sin(start))
        yield x[:k], y


def seconds(task: Callable[[], object], repeat: int) -> float:
    """Return the median CPU seconds of a task."""
    return median_seconds(task, repeat, time.process_time)


def peak() -> float:
    """Return the peak memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n: int, d: int, repeat: int, in_memory: int, many: list[int]) -> dict[str, float]:
    """Return one line of the table."""
    before = peak()
    x, y = next(blocks(max(4 * d, 1000), d))
    names = (INTERCEPT, *(f"x{j}" for j in range(1, d)))
    entry = method("joint-pmt")
    fits_in_memory = n * d <= in_memory * 10
    if fits_in_memory:
        parts = list(blocks(n, d))
        features, response = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        del parts
        rows = PrivateRows.from_arrays(features, response, names)
    else:
        rows = PrivateRows(lambda: blocks(n, d), n, names)
    start = peak()
    plan: Any = None

    def planned() -> None:
        nonlocal plan
        public = public_from_rows(x[: 4 * d + 60], y[: 4 * d + 60], names, "y")
        plan = entry.plan(public, n, Budget(1.0), make_parameters(entry, {}))

    figures = {"n": n, "d": d, "plan": seconds(planned, repeat)}
    figures["release"] = seconds(lambda: plan.run(rows, SecureNoise(), 1).released(), repeat)
    figures["peak MB"], figures["peak MB of blocks"] = peak() - before, peak() - start
    if fits_in_memory:
        figures["X'X"] = seconds(lambda: features.T @ features, max(repeat, 3))
        from sklearn.linear_model import LinearRegression  # noqa: PLC0415

        figures["scikit-learn"] = seconds(lambda: LinearRegression().fit(features, response), 1)
        total = figures["plan"] + figures["release"]
        figures["to X'X"], figures["to scikit-learn"] = total / figures["X'X"], total / figures["scikit-learn"]
    else:
        figures["making blocks"] = seconds(lambda: [None for _ in blocks(n, d)], 1) * plan.n_passes
    if many:
        figures |= in_threads(lambda: plan.run(rows, SecureNoise(), 1).released(), many, repeat)
    return figures


def in_threads(release: Callable[[], Any], many: list[int], repeat: int) -> dict[str, float]:
    """Return median wall seconds with each number of threads, their ratio, and the share of the calling thread."""
    figures: dict[str, float] = {}
    for count in many:
        threads.set_threads(count)
        spent = []
        for _ in range(repeat):
            start = time.perf_counter(), time.process_time(), time.thread_time()
            release()
            now = time.perf_counter(), time.process_time(), time.thread_time()
            spent.append([after - before for before, after in zip(start, now, strict=True)])
        for name, value in zip(("wall", "CPU", "calling thread"), np.median(spent, axis=0), strict=True):
            figures[f"{name}, {count} threads"] = float(value)
    threads.set_threads(None)
    figures["wall ratio"] = figures[f"wall, {many[0]} threads"] / figures[f"wall, {many[-1]} threads"]
    figures["in processes"] = processes_ratio(release, many[-1], repeat)
    return figures


def processes_ratio(release: Callable[[], Any], many: int, repeat: int) -> float:
    """Return how many releases as many processes make in the time of one release of one process.

    The processes share nothing but the machine, so threads cannot gain more than this on it.
    """

    def wall(processes: int) -> float:
        barrier, spent = context.Barrier(processes), context.SimpleQueue()

        def work() -> None:
            release()
            barrier.wait()
            start = time.perf_counter()
            release()
            spent.put(time.perf_counter() - start)

        workers = [context.Process(target=work) for _ in range(processes)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return max(spent.get() for _ in workers)

    context = multiprocessing.get_context("fork")
    return float(many * np.median([wall(1) for _ in range(repeat)]) / np.median([wall(many) for _ in range(repeat)]))


USAGE = """
import os, sys, time
start = time.perf_counter()
child = os.fork()
if not child:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - start
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss)
"""
READ_AND_FIT = """
import sys, pandas as pd
from sklearn.linear_model import LinearRegression
frame = pd.read_csv(sys.argv[1])
LinearRegression().fit(frame.iloc[:, :-1], frame.iloc[:, -1])
"""
READ_AND_MULTIPLY = """
import sys, numpy as np, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
x = np.column_stack([column.to_numpy() for column in table.columns])
x.T @ x
"""


def program(command: list[str], home: str) -> dict[str, float]:
    """Return CPU seconds, wall seconds and peak megabytes of one program and its child processes."""
    place = os.environ | {"PMT_LEDGER": f"{home}/ledger.db", "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    # As an installed program: compiled once, in the run that is not counted.
    place.pop("PYTHONDONTWRITEBYTECODE", None)
    place["PYTHONPYCACHEPREFIX"] = f"{home}/compiled"
    # From a small process: a child's peak counts that of the process it was forked from.
    done = subprocess.run(
        [sys.executable, "-S", "-c", USAGE, *command], capture_output=True, text=True, check=True, env=place, cwd=home
    )
    for file in Path(home).glob("ledger.db*"):
        file.unlink()  # each release is the first one
    status, cpu, wall, kilobytes = done.stdout.split()
    if int(status):
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    return {"CPU": float(cpu), "wall": float(wall), "MB": float(kilobytes) / 1024}


def median_program(command: list[str], home: str, repeat: int) -> dict[str, float]:
    """Return medians over repeated runs, after one that is not counted."""
    program(command, home)
    runs = [program(command, home) for _ in range(repeat)]
    return {key: float(np.median([run[key] for run in runs])) for key in runs[0]}


def write_files(home: str, n: int, d: int) -> None:
    """Write n rows by d columns, the response last, as CSV and Parquet, and public rows of the same columns."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.csv as pcsv  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(1, d)), "y"]
    slope = rng.standard_normal(d - 1) / np.sqrt(d)
    for name, rows in (("private", n), ("public", 4 * d + 60)):
        x = rng.standard_normal((rows, d - 1))
        table = pa.table(dict(zip(names, [*x.T, x @ slope + rng.standard_normal(rows)], strict=True)))
        pcsv.write_csv(table, f"{home}/{name}.csv")
        if name == "private":
            pq.write_table(table, f"{home}/{name}.parquet", row_group_size=BLOCK)


def commands(n: int, d: int, repeat: int, engines: list[list[str]]) -> Iterator[dict[str, Any]]:
    """Yield a line for each program, its workers included, with its ratio to the baseline."""
    base, assets = [sys.executable, "-m", "pmtcore"], Path(__file__).resolve().parents[1] / "assets"
    with tempfile.TemporaryDirectory() as home:
        write_files(home, n, d)
        yield {"what": "--help", **median_program([*base, "--help"], home, repeat)}
        demo = ["--private", f"{assets}/demo-private.csv", "--public", f"{assets}/demo-public.csv"]
        yield {"what": "demo release", **median_program([*base, "release", *demo, *MECHANISM], home, repeat)}
        for form, rival, code in (
            ("csv", "pandas and scikit-learn", READ_AND_FIT),
            ("parquet", "pyarrow and X'X", READ_AND_MULTIPLY),
        ):
            place = f"{home}/private.{form}"
            against = median_program([sys.executable, "-c", code, place], home, repeat)
            yield {"what": f"{form}: {rival}", "n": n, "d": d, **against}
            for options in engines:
                tables = ["--private", place, "--public", f"{home}/public.csv", *options]
                seconds = median_program([*base, "release", *tables, *MECHANISM], home, repeat)
                ratios = {"CPU ratio": seconds["CPU"] / against["CPU"], "wall ratio": seconds["wall"] / against["wall"]}
                name = f"{options[1]} threads" if options[0] == "--threads" else options[1]
                yield {"what": f"{form}: release, {name}", "n": n, "d": d, **seconds, **ratios}


STAGES = """
import sys, time
sys.path.insert(0, {root!r})
from pmtcore.cli.startup import own_process
own_process()
from pmtcore.cli.main import main
import pmtcore.cli.releases
from pmtcore.base.private_rows import RowCache
from pmtcore.mechanisms.noise import SecureNoise
import pmtcore.releases.release as release
from pmtcore.tables.sources import TextSource
last, spent = (0.0, 0.0), {{}}
def note(stage):
    global last
    now = time.thread_time(), time.process_time() - time.thread_time()
    own, others = spent.get(stage, (0.0, 0.0))
    spent[stage] = own + now[0] - last[0], others + now[1] - last[1]
    last = now
def timed(place, name, stage):
    function = getattr(place, name)
    def run(*given, **named):
        note("planning and ledger")
        try:
            return function(*given, **named)
        finally:
            note(stage)
    setattr(place, name, run)
note("start-up")
timed(TextSource, "_count", "count and digest")
timed(release, "hash_cells", "fingerprint")
timed(RowCache, "sum", "passes")
timed(SecureNoise, "integers", "noise")
status = main(sys.argv[1:])
note("planning and ledger")
print(spent, file=sys.stderr)
sys.exit(status)
"""
CORES = (1, 2, 4, 16, 64)


def stages(n: int, d: int) -> Iterator[dict[str, Any]]:
    """Yield, for CSV and Parquet, the CPU seconds of each stage and the wall seconds they say of more cores."""
    with tempfile.TemporaryDirectory() as home:
        write_files(home, n, d)
        for form in ("csv", "parquet"):
            tables = ["--private", f"{home}/private.{form}", "--public", f"{home}/public.csv", "--threads", "3"]
            code = STAGES.format(root=str(Path(__file__).resolve().parents[1]))
            environment = os.environ | {"PMT_LEDGER": f"{home}/{form}.db"}
            for _ in range(2):  # the first one compiles
                command = [sys.executable, "-c", code, "release", *tables, *MECHANISM]
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            spent = ast.literal_eval(done.stderr.splitlines()[-1])
            for stage, (own, others) in spent.items():
                yield {"what": f"{form}: {stage}", "calling thread": own, "others": others}
            walls = {
                f"{cores} cores": sum(max(own, (own + others) / cores) for own, others in spent.values())
                for cores in CORES
            }
            yield {"what": f"{form}: wall seconds by these", "n": n, "d": d, **walls}


RIVAL_NUMBERS = 5 * 10**7  # its fit takes minutes beyond
RIVAL = """
import sys, time, warnings
import numpy as np
from diffprivlib.models import LinearRegression
warnings.filterwarnings("ignore")
n, d = int(float(sys.argv[1])), int(sys.argv[2])
x = np.random.default_rng(0).standard_normal((n, d - 1))
y = x.sum(axis=1) / d
start = time.process_time()
LinearRegression(epsilon=4.0, bounds_X=(-5, 5), bounds_y=(-5, 5)).fit(x, y)
print(time.process_time() - start)
"""


def from_files(n: int, d: int, dask: bool) -> dict[str, float]:
    """Return the times of a release from a Parquet file and of reading its columns, on two workers if asked for."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from pmtcore.tables.choices import Choices  # noqa: PLC0415
    from pmtcore.tables.fingerprint import hash_cells  # noqa: PLC0415
    from pmtcore.tables.problem import prepare  # noqa: PLC0415
    from pmtcore.tables.table import read_path  # noqa: PLC0415

    figures: dict[str, float] = {}
    names = [f"x{j}" for j in range(1, d)] + ["y"]
    with tempfile.TemporaryDirectory() as home:
        place, public = f"{home}/p.parquet", f"{home}/b.csv"
        writer = pq.ParquetWriter(place, pa.schema([(name, pa.float64()) for name in names]))
        for x, y in blocks(n, d):
            table = np.column_stack([x[:, 1:], y])
            writer.write_table(pa.table(dict(zip(names, table.T, strict=True))))
        writer.close()
        x, y = next(blocks(4 * d + 60, d))
        body = np.column_stack([x[:, 1:], y])
        np.savetxt(public, body * 1.001, delimiter=",", header=",".join(names), comments="")
        start = time.perf_counter()
        for _ in pq.ParquetFile(place).iter_batches(columns=names, use_threads=False):
            pass
        figures["read (wall)"] = time.perf_counter() - start
        entry = method("joint-pmt")
        for name in ("here", "dask") if dask else ("here",):
            cluster = Cluster() if name == "dask" else None
            start, before = time.perf_counter(), _spent(cluster)
            problem = prepare(
                read_path(place, "private"), read_path(public, "public"), Choices(target="y"), cluster=cluster
            )
            made = entry.plan(problem.public, n, Budget(1.0), make_parameters(entry, {}))
            made.run(problem.private, SecureNoise(), 1).released()
            figures |= {f"{name} (wall)": time.perf_counter() - start, "passes": made.n_passes}
            if cluster is not None and problem.table is not None and problem.coder is not None:
                passes = _spent(cluster)
                numeric = problem.coder.numbers
                hash_cells(problem.table, bytes(32), most_rows=MOST_HASHED, numeric=numeric, cluster=cluster)
                for label, (here, workers) in {
                    "passes": np.subtract(passes, before),
                    "fingerprint": np.subtract(_spent(cluster), passes),
                }.items():
                    figures |= {f"{label}, coordinator (CPU)": here, f"{label}, workers (CPU)": workers}
                cluster.close()
    return figures


def _spent(cluster: Cluster | None) -> tuple[float, float]:
    """Return the CPU seconds that this process and the workers of a cluster have used."""
    workers = () if cluster is None else cluster.client.run(time.process_time).values()
    return time.process_time(), sum(workers)


# What the page is made of: arguments of this program, one line of its tables for each line they print.
PAGE = (
    "--rows 1e4 1e5 --columns 10 50 200 500",
    "--rows 1e6 --columns 10 50",
    "--rows 1e7 --columns 10",
    "--rows 1e5 --columns 1000 --repeat 1",
    "--rows 1e5 --columns 2000 --in-memory 2e7 --repeat 1 --threads",  # a design has no more; one thread: minutes
    "--commands --stages --rows 1e6 --columns 11",
)
TABLES = {
    "arrays": (
        "n",
        "d",
        "plan",
        "release",
        "X'X",
        "scikit-learn",
        "diffprivlib",
        "to X'X",
        "to scikit-learn",
        "peak MB of blocks",
    ),
    "threads": (
        "n",
        "d",
        "wall, 1 threads",
        "wall, 2 threads",
        "wall ratio",
        "calling thread, 2 threads",
        "CPU, 2 threads",
    ),
    "programs": ("what", "CPU", "CPU ratio", "wall", "wall ratio", "MB"),
    "stages": ("what", "calling thread", "others"),
    "cores": ("what", *(f"{cores} cores" for cores in CORES)),
}
# A line belongs to the table of which it has this figure.
MARKS = {"arrays": "release", "threads": "wall, 2 threads", "programs": "CPU", "stages": "others", "cores": "2 cores"}


def write_page(lines: list[dict[str, Any]], page: Path) -> None:
    """Replace the tables of the page, each between a comment with its name and the next comment."""
    text = page.read_text()
    for name, columns in TABLES.items():
        marked = [line for line in lines if MARKS[name] in line]
        columns = [key for key in columns if any(key in line for line in marked)]  # a rival may not have been asked
        rows = [columns, ["---"] * len(columns)]
        rows += [[_cell(line.get(key, "")) for key in columns] for line in marked]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition("<!-- end -->\n")
        text = f"{before}<!-- {name} -->\n\n{table}\n\n<!-- end -->\n{after}"
    page.write_text(text)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


COLOURS = {"release": "#0072B2", "X'X": "#009E73", "scikit-learn": "#D55E00", "diffprivlib": "#CC79A7"}


def picture(lines: list[dict[str, float]], place: Path) -> None:
    """Draw seconds and memory against rows, with a panel for each number of columns; needs Chromium (PMT_CHROMIUM)."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415
    from plotly.subplots import make_subplots  # noqa: PLC0415

    columns = sorted({int(line["d"]) for line in lines if any(o["d"] == line["d"] and o is not line for o in lines)})
    titles = [f"{d} columns" for d in columns]
    figure = make_subplots(2, len(columns), shared_yaxes=True, vertical_spacing=0.1, subplot_titles=titles)
    for at, d in enumerate(columns, start=1):
        points = sorted((line for line in lines if line["d"] == d), key=lambda line: line["n"])
        for name, colour in COLOURS.items():
            has = [line for line in points if name in line]
            x, y = [line["n"] for line in has], [line[name] for line in has]
            style = {"name": name, "line_color": colour, "showlegend": at == 1, "mode": "lines+markers"}
            figure.add_scatter(x=x, y=y, row=1, col=at, **style)
        x, y = [line["n"] for line in points], [max(line["peak MB of blocks"], 1) for line in points]
        style = {"line_color": COLOURS["release"], "showlegend": False, "mode": "lines+markers"}
        figure.add_scatter(x=x, y=y, row=2, col=at, **style)
    figure.update_xaxes(type="log", dtick=1)
    figure.update_xaxes(title="rows", row=2)
    figure.update_yaxes(type="log", dtick=1, exponentformat="none")
    figure.update_yaxes(title="CPU seconds", row=1, col=1)
    figure.update_yaxes(tickvals=[5, 10, 20, 50, 100, 200, 500], row=2)
    figure.update_yaxes(title="MB beside the rows", row=2, col=1)
    figure.update_layout(width=1000, height=620, template="plotly_white", margin={"t": 40, "b": 50, "l": 80, "r": 20})
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        page = Path(home) / "page.html"
        figure.write_html(page, include_plotlyjs=True)
        browser = playwright.chromium.launch(executable_path=os.environ.get("PMT_CHROMIUM") or shutil.which("chromium"))
        view = browser.new_page(viewport={"width": 1010, "height": 630})
        view.goto(page.as_uri())
        view.wait_for_selector(".main-svg")
        view.screenshot(path=place)
        browser.close()


def main() -> None:
    """Print the table, or JSON lines with ``--json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e4, 1e5, 1e6])
    parser.add_argument("--columns", nargs="+", type=int, default=[10, 20, 50, 200])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--in-memory", type=float, default=IN_MEMORY)
    parser.add_argument("--parquet", action="store_true")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--commands", action="store_true", help="whole programs, start-up included")
    parser.add_argument("--stages", action="store_true", help="CPU seconds of a release by stage")
    parser.add_argument("--threads", nargs="*", type=int, default=[], help="of a release, one after the other")
    parser.add_argument("--rival", metavar="PYTHON", help="one in which diffprivlib is installed")
    parser.add_argument("--picture", type=Path, metavar="FILE.png")
    parser.add_argument("--drawn", type=Path, metavar="FILE", help="what --page printed before")
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="measure all that the page has and write it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        n, d = int(chosen.rows[0]), chosen.columns[0]
        figures = measure(n, d, chosen.repeat, int(chosen.in_memory), chosen.threads)
        if chosen.rival and n * d <= RIVAL_NUMBERS:
            rival = [chosen.rival, "-c", RIVAL, str(n), str(d)]
            figures["diffprivlib"] = float(subprocess.run(rival, capture_output=True, text=True, check=True).stdout)
        if chosen.parquet or chosen.dask:
            figures |= from_files(n, d, chosen.dask)
        print(json.dumps(figures))
        return
    if chosen.commands or chosen.stages:
        for n in map(int, chosen.rows):
            engines = [["--threads", str(many)] for many in chosen.threads or [1, 2]]
            engines += [["--engine", "dask"]] if chosen.dask else []
            programs = commands(n, chosen.columns[0], chosen.repeat, engines) if chosen.commands else ()
            for line in chain(programs, stages(n, chosen.columns[0]) if chosen.stages else ()):
                texts = (f"{k} {v:.4g}" if isinstance(v, float) else str(v) for k, v in line.items())
                print(json.dumps(line) if chosen.json else "  ".join(texts), flush=True)
        return
    printed: list[str] = []
    if chosen.page and not chosen.drawn:
        for arguments in PAGE:
            command = [sys.executable, __file__, "--threads", "1", "2", "--json", *arguments.split()]
            command += ["--rival", chosen.rival] if chosen.rival else []
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
                for line in running.stdout or ():
                    print(line, end="", flush=True)
                    printed.append(line)
            if running.returncode:
                raise SystemExit(running.returncode)
    elif chosen.drawn:
        printed = chosen.drawn.read_text().splitlines()
    if printed:
        drawn = [json.loads(line) for line in printed]
        if chosen.page:
            write_page(drawn, chosen.page)
        if chosen.picture:
            picture([line for line in drawn if "X'X" in line], chosen.picture)
        return
    lines = []
    for n in chosen.rows:
        for d in chosen.columns:
            if n * d > 1e9:
                continue  # more than minutes
            more = [f"--{name}" for name in ("parquet", "dask") if getattr(chosen, name)]
            command = [sys.executable, __file__, "--one", "--rows", str(n), "--columns", str(d), *more]
            command += ["--repeat", str(chosen.repeat), "--in-memory", str(chosen.in_memory)]
            command += ["--threads", *map(str, chosen.threads)] if chosen.threads else []
            command += ["--rival", chosen.rival] if chosen.rival else []
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            lines.append(json.loads(done.stdout.splitlines()[-1]))
            line = lines[-1]
            print(json.dumps(line) if chosen.json else "  ".join(f"{k} {v:.4g}" for k, v in line.items()), flush=True)
    if chosen.picture:
        picture(lines, chosen.picture)


if __name__ == "__main__":
    main()
