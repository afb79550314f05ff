"""Running a figure: trials in parallel processes, with progress, stoppable; results stored with their description.

A *figure* is a list of *runs*; a run is a setting and the methods tried on it; a *trial* of a run draws data
and noise from one seed and gives one error (or one per iteration, or one per position) for each series. The same
description and trial count give the same numbers. A stored result keeps the errors of every trial, so that comparisons
are paired and a computation goes on where an earlier one ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from pmtcore import __version__
from pmtcore.base.cached_by_code import cached_by_code
from pmtcore.base.exports import without_nonfinite
from pmtcore.base.messages import InputError, MethodMessage, whole_number_between
from pmtcore.base.numbers import plural
from pmtcore.base.paths import assets_folder, cache_directory, write_cached
from pmtcore.base.strict_json import Json
from pmtcore.papers.gallery.claims import Claim, Curve, Curves

Errors = dict[str, list[float]]  # series -> one error, or one per iteration
_CHUNK = 5  # trials handed to a process at once: small enough for progress, large enough to repay the hand-over
_STORED_EVERY = 20  # trials: what a stopped computation loses at most
_ALIKE = 1e-3  # relative; sums in another order differ by far less, another method by far more
SHIPPED = assets_folder() / "gallery"


@dataclass(frozen=True)
class Run:
    """One setting.

    Attributes:
        x: where its errors are drawn; ``None`` where a trial gives one error per iteration, several positions where it
            gives one error for each.
        task: name of the trial function, ``module:function`` inside this package.
        setting: its arguments, plain JSON types.
    """

    x: float | tuple[float, ...] | None
    task: str
    setting: Mapping[str, Any]


class FigureChoices(TypedDict, total=False):
    """Fields of a :class:`Figure` that most figures of a paper share."""

    trials: int
    quick: int
    x_label: str
    y_label: str
    notes: str
    log_x: bool
    log_y: bool
    needs: str | None
    errata: tuple[str, ...]
    named: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A published experiment: what was done, what the paper says of it, and how that is checked.

    Attributes:
        claims: all that the paper's caption and text say, each with the check of what came out.
        notes: where our setting departs, or had to be chosen.
    """

    id: str
    title: str
    source: str
    runs: tuple[Run, ...]
    claims: tuple[Claim, ...]
    trials: int
    quick: int
    x_label: str
    y_label: str
    notes: str = ""
    log_x: bool = False
    log_y: bool = True
    needs: str | None = None  # a table by name
    errata: tuple[str, ...] = ()  # of its data and settings; those of its methods come with the methods
    named: tuple[str, ...] = ()  # ids of methods that its task names by itself

    @property
    def words(self) -> str:
        """Say what is plotted."""
        places = {x for run in self.runs for x in _positions(run)}
        over = f"at {plural(len(places), 'value')} of it" if places else "at every step"
        return f"y: {self.y_label}; x: {self.x_label}, {over}. One line for each method and setting."

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the ids of the registered methods that are tried, in their order."""
        return tuple(dict.fromkeys([*(id for run in self.runs for id in _tried(run)), *self.named]))

    @property
    def claim(self) -> str:
        """Return all that the paper says of it, in words."""
        return " ".join(claim.words for claim in self.claims if not claim.ours)

    @property
    def digest(self) -> str:
        """Return a digest that changes with the description."""
        text = json.dumps([(run.x, run.task, run.setting) for run in self.runs], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def verdict(self, curves: Curves) -> list[dict[str, Any]]:
        """Return each claim, its answer, and the figures behind the answer."""
        return [claim.answer(curves) for claim in self.claims]


@dataclass
class Computation:
    """A figure being computed; trials come in chunks, in the order of the seeds.

    Args:
        trials: repetitions; the figure's own full count if ``None``.
        workers: processes; 0 computes in this one.
        since: a stored result of the same description, whose trials are taken over.
    """

    figure: Figure
    trials: int | None = None
    workers: int = 0
    since: Mapping[str, Any] | None = None
    stopped: bool = False
    _errors: dict[int, dict[int, list[Errors]]] = field(default_factory=dict)
    _seconds: float = 0.0

    def __post_init__(self) -> None:
        self.trials = whole_number_between(
            "trials", self.figure.trials if self.trials is None else self.trials, 1, 10_000
        )
        needed(self.figure)
        if self.since is not None and self.since["digest"] != self.figure.digest:
            raise ValueError(f"{self.figure.id}: the stored result has another description")
        self._seconds = float(self.since["seconds_per_trial"]) * self._begun if self.since else 0.0

    @property
    def _begun(self) -> int:
        """Return the number of trials that are taken over."""
        return min(int(self.since["trials"]), self.trials or 0) if self.since else 0

    @property
    def share(self) -> float:
        """Share of the trials done."""
        runs = len(self.figure.runs)
        done = self._begun * runs + sum(len(block) for run in self._errors.values() for block in run.values())
        return done / (runs * (self.trials or 1))

    def steps(self) -> Iterator[float]:
        """Compute, yielding the share done after each chunk; closing the iterator, or stop(), ends it early."""
        starts = range(self._begun, self.trials or 0, _CHUNK)
        jobs = [(run, start) for start in starts for run in range(len(self.figure.runs))]
        if self.workers == 0:
            for run, start in jobs:
                if self.stopped:
                    return
                self._keep(run, start, _timed(self.figure.runs[run], start, self._until(start)))
                yield self.share
            return
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core, not one thread pool each
        with ProcessPoolExecutor(self.workers) as pool:
            live: dict[Future[tuple[list[Errors], float]], tuple[int, int]] = {
                pool.submit(_timed, self.figure.runs[run], start, self._until(start)): (run, start)
                for run, start in jobs
            }
            try:
                while live and not self.stopped:
                    done, _ = wait(live, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._keep(*live.pop(future), future.result())
                    yield self.share
            finally:
                for future in live:
                    future.cancel()

    def run(self) -> Computation:
        """Do all of it."""
        for _ in self.steps():
            pass
        return self

    def stop(self) -> None:
        """Leave it at what is done."""
        self.stopped = True

    def _until(self, start: int) -> int:
        return min(start + _CHUNK, self.trials or 0)

    def _keep(self, run: int, start: int, block: tuple[list[Errors], float]) -> None:
        self._errors.setdefault(run, {})[start] = block[0]
        self._seconds += block[1]

    def curves(self) -> dict[str, Curve]:
        """Return a curve for each series, of the trials that every run so far begun has done.

        Where a stored result goes on, of its trials and of those that all runs have done since.
        """
        done = {
            at: [trial for start in sorted(blocks) for trial in blocks[start]] for at, blocks in self._errors.items()
        }
        complete = not self._begun or len(done) == len(self.figure.runs)
        count = min((len(trials) for trials in done.values()), default=0) if complete else 0
        points: dict[str, list[tuple[float, np.ndarray]]] = {}
        for at, trials in done.items() if count else ():
            places = _positions(self.figure.runs[at])
            for name in trials[0]:
                values = np.asarray([trial[name] for trial in trials[:count]], dtype=float)  # (trials, points)
                for step in range(values.shape[1]):
                    points.setdefault(name, []).append((places[step] if places else float(step), values[:, step]))
        made = {name: _curve(name, of_series) for name, of_series in points.items()}
        if self.since is None:
            return made
        before = {name: replace(one, values=one.values[: self._begun]) for name, one in curves_of(self.since).items()}
        if not made:
            return before
        return {name: replace(one, values=np.vstack([one.values, made[name].values])) for name, one in before.items()}

    def _first(self) -> Errors:
        """Return the first trial of the first run, as :func:`probe` would compute it, or has for what this goes on."""
        if self._begun and self.since:
            return dict(self.since["first"])
        return self._errors[0][0][0] if self._errors.get(0, {}).get(0) else probe(self.figure)

    def as_dict(self) -> dict[str, Any]:
        """Return the result with its description, plain JSON types."""
        curves = self.curves()
        return {
            "id": self.figure.id,
            "title": self.figure.title,
            "source": self.figure.source,
            "claim": self.figure.claim,
            "trials": min((curve.count for curve in curves.values()), default=0),
            "computed": datetime.now(UTC).date().isoformat(),
            "digest": self.figure.digest,
            "first": self._first(),
            "seconds_per_trial": round(self._seconds / max(self.share * (self.trials or 1), 1e-9), 3),
            "series": [curve.as_dict() for curve in curves.values()],
            "verdict": self.figure.verdict(curves) if curves else [],
            "notes": self.figure.notes,
            "settings": [{"x": run.x, "task": run.task, "setting": run.setting} for run in self.figure.runs],
            "made_by": maker(),
        }


@cache
def maker() -> dict[str, str]:
    """Return which code computes: versions, and a digest of the package's own source."""
    source = hashlib.sha256()
    for path in sorted(Path(__file__).parents[2].rglob("*.py")):
        source.update(path.read_bytes())
    names = ("numpy", "scipy")
    return {
        "pmtcore": __version__,
        "source": source.hexdigest()[:16],
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in names},
    }


def _positions(run: Run) -> tuple[float, ...]:
    """Return the positions of a trial's errors; none where they are one for each iteration."""
    return () if run.x is None else run.x if isinstance(run.x, tuple) else (run.x,)


def compute_all(
    chosen: Sequence[Figure], shares: Sequence[float], workers: int, directory: Path | None = None
) -> Iterator[tuple[Figure, int, float]]:
    """Bring stored results to the papers' number of trials, all figures to the first share of it, then to the next.

    Figures without a result come first, then those with the smallest share of their trials. Each result is stored as
    it goes, so that a run that is stopped goes on where it was. A result that today's code does not give is begun anew.

    Args:
        shares: of each figure's own number of trials, rising to 1.
        directory: where results are kept; the cache of this machine if ``None``.

    Yields:
        The figure, the trials that it has, and the processor seconds a trial takes.
    """
    current: dict[str, Mapping[str, Any] | None] = {}
    ordered = sorted(chosen, key=lambda figure: _share_stored(figure, directory))
    for share in shares:
        for figure in ordered:
            if figure.id not in current:
                stored = load_stored(figure, directory)
                current[figure.id] = None if stored is None or stale(figure, stored) else stored
            record = current[figure.id]
            goal = max(round(share * figure.trials), min(figure.trials, _CHUNK))
            while record is None or record["trials"] < goal:
                begun = 0 if record is None else int(record["trials"])
                trials = min(goal, begun + _STORED_EVERY)
                record = Computation(figure, trials, workers, since=record).run().as_dict()
                store(record, directory)
                yield figure, trials, record["seconds_per_trial"]
            current[figure.id] = record


def _share_stored(figure: Figure, directory: Path | None) -> float:
    record = load_stored(figure, directory)
    return 0.0 if record is None else int(record["trials"]) / figure.trials


def probe(figure: Figure) -> Errors:
    """Compute the first trial of the first run, which shows whether the code still gives a stored result."""
    return _chunk(figure.runs[0], 0, 1)[0]


def stale(figure: Figure, record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the series of a stored result whose first trial comes out differently today, or is not in it.

    The description is compared by :attr:`Figure.digest`; this compares what the code behind it does, which no digest of
    its text can: most changes of text change no figure.
    """
    recorded, today = record.get("first") or {}, probe(figure)
    return tuple(name for name, values in today.items() if not _same(recorded.get(name), values))


def _same(stored: object, today: list[float]) -> bool:
    if not isinstance(stored, list) or len(stored) != len(today):
        return False
    one = np.asarray([np.nan if v is None else v for v in stored], dtype=float)
    two = np.where(np.isfinite(today), today, np.nan)
    return bool(np.allclose(one, two, rtol=_ALIKE, atol=0.0, equal_nan=True))


def needed(figure: Figure) -> None:
    """Refuse a figure whose table is not on this machine.

    Raises:
        InputError: with what to do.
    """
    if figure.needs is not None:
        from pmtcore.tables import named  # noqa: PLC0415

        table = named.entry(figure.needs)
        if not table.available:
            raise InputError(
                MethodMessage.TABLE_NOT_HERE, id=figure.id, table_id=figure.needs, title=table.title, file=table.file
            )


def _chunk(run: Run, start: int, stop: int) -> list[Errors]:
    module, _, name = run.task.partition(":")
    task = getattr(import_module(f"pmtcore.papers.gallery.{module}"), name)
    return [task(seed, **run.setting) for seed in range(start, stop)]


def _timed(run: Run, start: int, stop: int) -> tuple[list[Errors], float]:
    """Return trials, and the processor seconds that they took."""
    began = time.process_time()
    return _chunk(run, start, stop), time.process_time() - began


def _tried(run: Run) -> list[str]:
    """Return method ids of a run: those that it lists, or that its task names."""
    return [*(entry[1] for entry in run.setting.get("tried", ())), *run.setting.get("methods", ())]


def at_epsilon(series: str, epsilon: float) -> str:
    """Return the name of a series at one epsilon, where a run has it at several."""
    return f"{series}, eps = {epsilon:g}"


def _curve(name: str, points: list[tuple[float, np.ndarray]]) -> Curve:
    points = sorted(points, key=lambda point: point[0])
    return Curve(name, np.asarray([x for x, _ in points]), np.stack([values for _, values in points], axis=1))


def store(record: Mapping[str, Any], directory: Path | None = None) -> Path | None:
    """Keep a result, so that a later visit opens at once; ``None`` where the cache cannot be written.

    Raises:
        TypeError: a private figure is in the record.
    """
    path = (directory or cache_directory()) / f"{record['id']}.json"
    text = _lines({key: without_nonfinite(value) for key, value in record.items()}) + "\n"
    return path if write_cached(path, text) else None


def _lines(record: Mapping[str, Json]) -> str:
    """Return JSON with a line for each field, and one for each series."""

    def line(value: Json) -> str:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))

    def entry(key: str, value: Json) -> str:
        items = value if isinstance(value, list | tuple) and key in ("series", "verdict", "settings") else ()
        return f"{line(key)}: " + ("[\n" + ",\n".join(map(line, items)) + "\n]" if items else line(value))

    return "{\n" + ",\n".join(entry(key, value) for key, value in record.items()) + "\n}"


def load_stored(figure: Figure, only: Path | None = None, *, values: bool = True) -> dict[str, Any] | None:
    """Return the stored result of this description with the most trials, then the newest; ``None`` if there is none.

    Args:
        only: the one directory to look in; the cache of this machine and what ships if ``None``.
        values: whether the values of all trials are read, nine tenths of a file; without them they are empty.
    """
    records: list[dict[str, Any]] = []
    for directory in (cache_directory(), SHIPPED) if only is None else (only,):
        path = directory / f"{figure.id}.json"
        try:
            text = path.read_bytes()
            record = json.loads(text if values else _without_values(text))
        except (OSError, ValueError):
            continue
        if record.get("digest") == figure.digest and all("values" in fields for fields in record["series"]):
            record["claim"] = figure.claim
            verdict_path = cache_directory() / "verdicts" / f"{figure.id}-{hashlib.sha256(text).hexdigest()[:32]}.json"
            record["verdict"] = cached_by_code(verdict_path, partial(_current_verdict, figure, text))
            records.append(record)
    return max(records, key=lambda record: (record["trials"], record["computed"]), default=None)


def _without_values(text: bytes) -> bytes:
    """Return a stored result in which the values of each series are empty."""
    first, *others = text.split(b'"values":[[')
    return b'"values":['.join([first, *(part[part.index(b"]]") + 1 :] for part in others)])


def _current_verdict(figure: Figure, text: bytes) -> list[dict[str, Any]]:
    """Return the verdict on a stored result by the current checks, which resample its trials."""
    return figure.verdict(curves_of(json.loads(text)))


def curves_of(record: Mapping[str, Any]) -> dict[str, Curve]:
    """Return the curves of a stored result by their names."""
    return {fields["name"]: Curve.from_dict(fields) for fields in record["series"]}


@cache
def shipped_curves(id: str) -> Curves:
    """Return the curves of the result that ships for a figure."""
    return curves_of(json.loads((SHIPPED / f"{id}.json").read_text(encoding="utf-8")))
