"""CPU and errors of studies of several sites, compared with one curator.

    PYTHONPATH=. python benchmarks/sites.py cost      # CPU of a study over that of one curator's release
    PYTHONPATH=. python benchmarks/sites.py errors    # error ratios: all sites, k of s, one lost later
    PYTHONPATH=. python benchmarks/sites.py many      # one pass of 1,000 sites, every message sealed and signed

All tables are synthetic. ``errors`` leaves out boards and seals, which change no result (tests/sites).
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pmtcore.accounting.budgets import Budget
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.releases.planning import predict_method
from pmtcore.releases.release import Request, recorded_release, release
from pmtcore.sites import seals, transcript
from pmtcore.sites.boards import BoardMessage, MemoryBoard
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.parties import Coordinator, SiteOfStudy, join
from pmtcore.sites.rounds import Exchange, Openings, SharedNoise
from pmtcore.sites.study import Site, Study, StudyContext, create
from pmtcore.sites.transcript import OpenedPass, Transcript
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path, table_from

COLUMNS = 5
_REPEATS = 3
SLOPES = np.linspace(1.0, -0.5, COLUMNS)


def draw(rows: int, seed: int, labels: bool = False) -> pd.DataFrame:
    """Return a table of Gaussian features with a response, or labels."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, COLUMNS))
    z = x @ SLOPES
    y = (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int) if labels else z + rng.standard_normal(rows)
    return pd.DataFrame(np.column_stack([x, y]), columns=[*(f"x{j}" for j in range(COLUMNS)), "y"])


def study_of(folder: Path, rows: Sequence[int], id: str, mu: float, labels: bool = False, **settings: Any) -> Study:
    """Return a study of sites with so many rows each, whose public file is in the folder."""
    draw(200, 1, labels).to_csv(folder / "public.csv", index=False)
    sites = [Site(f"site-{at}", count) for at, count in enumerate(rows)]
    choices = Choices(target="y", family="logistic" if labels else "gaussian")
    settings = {"least": max(2, settings.get("colluders", 0) + 1), "patience": 600.0, **settings}
    return create("benchmark", str(folder / "public.csv"), choices, Request(id, Budget(mu)), sites=sites, **settings)


# What a study has beside the releases: boxes, signatures, messages, and looking for messages.
ENGINE = (
    (Exchange, "total"),
    (SiteOfStudy, "_wait_for_attempt"),
    (Coordinator, "_answering"),
    (Coordinator, "_follow"),
)


class Timed:
    """Clock of the CPU seconds of all threads in the engine's part of a study."""

    def __init__(self) -> None:
        self.seconds, self._lock = 0.0, threading.Lock()
        self._plain = [getattr(of, name) for of, name in ENGINE]

    def __enter__(self) -> Timed:
        for (of, name), plain in zip(ENGINE, self._plain, strict=True):
            setattr(of, name, self._timed(plain))
        return self

    def _timed(self, plain: Any) -> Any:
        def timed(*arguments: Any) -> Any:
            began = time.thread_time()
            try:
                return plain(*arguments)
            finally:
                with self._lock:
                    self.seconds += time.thread_time() - began

        return timed

    def __exit__(self, *_: object) -> None:
        for (of, name), plain in zip(ENGINE, self._plain, strict=True):
            setattr(of, name, plain)


def cost(rows: int, count: int) -> None:
    """Print CPU seconds of a study and of one curator's recorded release of the same rows."""
    print("method, sites, rows each: curator s, study s, of it engine s, (study - engine)/curator")
    for id in ("joint-moment", "joint-pmt", "pmt-gradients"):
        _cost(id, 1_000, count)  # imports and caches
        # The least of several: other processes of the machine only ever add to CPU time.
        runs = [_cost(id, rows, count) for _ in range(_REPEATS)]
        curator, (total, engine) = min(run[0] for run in runs), min(run[1:] for run in runs)
        ratio = (total - engine) / curator
        print(f"{id}, {count}, {rows:,}: {curator:.2f}, {total:.2f}, {engine:.2f}, {ratio:.2f}", flush=True)


def _cost(id: str, rows: int, count: int) -> tuple[float, float, float]:
    """Return CPU seconds of one curator, of a study, and of the exchanges in it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        study = study_of(folder, [rows] * count, id, 1.0)
        frames = [draw(rows, 10 + at) for at in range(count)]
        began = time.process_time()
        ledger = Ledger(str(folder / "curator.db"))
        ledger.cap("all", 5.0)
        public = read_path(folder / study.public, "public")
        problem = prepare(table_from(pd.concat(frames), "all", "private"), public, study.choices)
        recorded_release(problem, study.request, SecureNoise(), ledger, dataset="all", key="once")
        curator = time.process_time() - began
        began, joined = time.process_time(), []
        for site in study.sites:
            (folder / site.name).mkdir()
            own = Ledger(str(folder / site.name / "ledger.db"))
            own.cap(site.name, 5.0)
            # Every party reads the study's public file itself.
            agreed = StudyContext.of(study, str(folder))
            joined.append(join(agreed, site.name, folder / site.name, own, dataset=site.name, by="benchmark"))
        study, board = study.with_keys(joined), MemoryBoard()

        def take_part(at: int, study=study, board=board, folder=folder, frames=frames) -> Any:
            name, context = study.names[at], StudyContext.of(study, str(folder))
            own, table = folder / name, table_from(frames[at], name, "private")
            ledger = Ledger(str(own / "ledger.db"))
            return SiteOfStudy(context, name, table, own, ledger, name, SecureNoise()).run(board)

        with Timed() as engine, ThreadPoolExecutor(count) as pool:
            sites = [pool.submit(take_part, at) for at in range(count)]
            Coordinator(StudyContext.of(study, str(folder)), board).run()
            for each in sites:
                each.result()
        total = time.process_time() - began
        return curator, total, engine.seconds


class Gone(Exception):  # a site is lost here
    """The site is in no later pass."""


class Meeting:
    """Exchange between threads of one process that add up integers without shares, with given sites in each pass.

    Args:
        names: sites of the first pass, and of all later ones.
    """

    def __init__(self, first: Sequence[str], later: Sequence[str]) -> None:
        self._first, self._later = tuple(first), tuple(later)
        self._values: dict[tuple[int, str], np.ndarray] = {}
        self._barriers = {0: threading.Barrier(len(first))}
        self._lock = threading.Lock()

    def names(self, step: int) -> tuple[str, ...]:
        """Return the sites of a pass."""
        return self._first if step == 0 else self._later

    def total(self, name: str, step: int, values: np.ndarray) -> OpenedPass:
        """Return the sum over the sites of a pass, once all of them have sent theirs."""
        names = self.names(step)
        if name not in names:
            raise Gone
        with self._lock:
            barrier = self._barriers.setdefault(step, threading.Barrier(len(names)))
            self._values[step, name] = values
        barrier.wait()
        parts = [self._values[step, each] for each in names]
        return OpenedPass(names, tuple(int(sum(column)) for column in zip(*parts, strict=True)))


class Seat:
    """One site of such an exchange; its share of the noise depends on the number of sites in the pass."""

    def __init__(self, meeting: Meeting, name: str, shares: NoiseShares) -> None:
        self._meeting, self._name, self._shares = meeting, name, shares

    def total(self, step: int, values: np.ndarray) -> OpenedPass:
        """See :class:`pmtcore.sites.rounds.Opening`."""
        opened = self._meeting.total(self._name, step, values)
        self._shares.answering = len(self._meeting.names(step + 1))
        return opened


def released(
    context: StudyContext, tables: dict[str, Any], first: Sequence[str], later: Sequence[str], seed: int
) -> Any:
    """Return the release of a study in which these sites are in the first pass, and those in all later ones."""
    study, meeting = context.study, Meeting(first, later)

    def take_part(name: str) -> Any:
        shares = NoiseShares(SeededNoise(seed, study.names.index(name)), len(first), study.colluders)
        source = SharedNoise(study, Seat(meeting, name, shares), shares)
        try:
            return release(context.problem(first, tables[name]), study.request_of(first), source)
        except Gone:
            return None

    with ThreadPoolExecutor(len(first)) as pool:
        releases = dict(zip(first, pool.map(take_part, first), strict=True))
    return releases[later[0]]


def errors(trials: int, rows: int) -> None:
    """Print root mean squared errors of the slopes against the truth, beside those of one curator of all rows."""
    print("method, sites: error over the curator's, its standard error, predicted; share of 95 % bands that hold")
    for id, labels in (("joint-pmt", False), ("joint-moment", False), ("pmt-gradients", True)):
        for first, later, colluders in ((5, 5, 0), (5, 5, 2), (4, 4, 0), (3, 3, 1), (5, 4, 0), (5, 3, 1)):
            if later < first and id == "joint-moment":
                continue  # one pass
            _ratio(id, labels, first, later, colluders, trials, rows)


def _ratio(id: str, labels: bool, first: int, later: int, colluders: int, trials: int, rows: int) -> None:
    sites = 5
    with tempfile.TemporaryDirectory() as place:
        study = study_of(Path(place), [rows] * sites, id, 0.5, labels, colluders=colluders)
        alone = study_of(Path(place), [rows] * sites, id, 0.5, labels)
        context, curator = StudyContext.of(study, place), StudyContext.of(alone, place)
    squares, hits = np.zeros((trials, 2)), []
    for trial in range(trials):
        frames = [draw(rows, 1000 + sites * trial + at, labels) for at in range(sites)]
        tables = {name: table_from(frame, name, "private") for name, frame in zip(study.names, frames, strict=True)}
        stacked = table_from(pd.concat(frames), "all", "private")
        one = release(prepare(stacked, curator.table, alone.choices), alone.request, SeededNoise(7, trial))
        shared = released(context, tables, study.names[:first], study.names[:later], 10_000 + trial)
        for at, each in enumerate((one, shared)):
            slopes = [each.names.index(f"x{j}") for j in range(COLUMNS)]
            squares[trial, at] = np.mean((each.coefficients[slopes] - SLOPES) ** 2)
        factor = study.widening((study.names[:first], study.names[:later]))
        bands = shared.bands.widened(factor, shared.coefficients) if factor > 1 else shared.bands
        hits.append(np.mean((bands.low[slopes] <= SLOPES) & (bands.high[slopes] >= SLOPES)))
    mean = squares.mean(axis=0)
    ratio = float(np.sqrt(mean[1] / mean[0]))
    # Of a ratio of means, by the delta method.
    error = ratio / 2 * float(np.std(squares[:, 1] / mean[1] - squares[:, 0] / mean[0])) / np.sqrt(trials)
    public = context.side.data
    base = predict_method(public, rows * sites, id, 0.5).prediction.total
    single = predict_method(public, rows * first, id, study.noise_mu(first)).prediction.total
    predicted = float(np.sqrt(np.mean(single[slopes] ** 2) / np.mean(base[slopes] ** 2)))
    words = f"{first} of {sites}" + (f", then {later}" if later < first else "") + f", {colluders} may collude"
    at_most = f", at most {predicted * factor:.2f}" if factor > 1 else ""
    print(f"{id}, {words}: {ratio:.2f} ({error:.2f}), {predicted:.2f}{at_most}; {np.mean(hits):.3f}", flush=True)


def _read_once() -> None:
    """Check each message, and add up each pass, only once in this process, and not for each site."""
    check, add_up, genuine = transcript.require_genuine, transcript._total, set()

    def checked(message: BoardMessage, study: Study) -> None:
        if id(message) not in genuine:
            check(message, study)
            genuine.add(id(message))

    transcript.require_genuine = checked  # type: ignore[assignment]
    transcript._total = lambda parts: added(tuple(parts))

    @cache
    def added(parts: tuple[str, ...]) -> tuple[int, ...]:
        return add_up(list(parts))


def many(count: int, integers: int) -> None:
    """Print the CPU seconds of one pass of many sites, with seals and signatures, and whether its total is right."""
    _read_once()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = study_of(folder, [10] * count, "joint-moment", 1.0, colluders=count // 50)
        keys = {name: seals.Keys.new() for name in plan.names}
        study = plan.with_keys({"site": name, "plan": plan.plan_digest, **own.public} for name, own in keys.items())
        board, values = MemoryBoard(), np.random.default_rng(1).integers(-(2**60), 2**60, (count, integers))
        board.post(BoardMessage(study.digest, "", "begin", 1, body=",".join(study.names)))

        def take_part(at: int) -> tuple[OpenedPass, float]:
            began, name = time.thread_time(), study.names[at]
            (folder / name).mkdir()
            reader = Transcript(study, board, name)
            reader.update()
            exchange = Exchange(
                study, name, keys[name], board, transcript=reader, openings=Openings(folder / name, study)
            )
            return exchange.total(0, values[at]), time.thread_time() - began

        threading.stack_size(2**19)
        with ThreadPoolExecutor(count) as pool:
            totals = list(pool.map(take_part, range(count)))
        expected = tuple(sum(map(int, column)) for column in values.T)
        right = sum(opened.total == expected for opened, _ in totals)
        seconds = [each for _, each in totals]
        near = len(study.neighbours(study.names, study.names[0]))
        size = sum(len(message.body) for message in board.messages) / 2**20
        print(
            f"{count} sites, {near} neighbours each, {integers} integers: "
            f"{right} of {count} opened the right total; {len(board.messages):,} messages, {size:.0f} MB; "
            f"CPU {sum(seconds):.0f} s in all, each message checked once"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("cost")
    one.add_argument("--rows", type=int, default=200_000, help="of each site")
    one.add_argument("--sites", type=int, default=3)
    one.set_defaults(run=lambda chosen: cost(chosen.rows, chosen.sites))
    two = commands.add_parser("errors")
    two.add_argument("--trials", type=int, default=200)
    two.add_argument("--rows", type=int, default=2_000, help="of each of five sites")
    two.set_defaults(run=lambda chosen: errors(chosen.trials, chosen.rows))
    three = commands.add_parser("many")
    three.add_argument("--sites", type=int, default=1_000)
    three.add_argument("--integers", type=int, default=28, help="in the pass: a moment of six columns and a response")
    three.set_defaults(run=lambda chosen: many(chosen.sites, chosen.integers))
    chosen = parser.parse_args()
    chosen.run(chosen)


if __name__ == "__main__":
    main()
