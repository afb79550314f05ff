"""Studies of small tables, run in threads over a board in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise
from pmtcore.releases.release import Request
from pmtcore.sites import parties, transcript
from pmtcore.sites.boards import MemoryBoard
from pmtcore.sites.parties import Coordinator, SiteOfStudy, join
from pmtcore.sites.study import Site, StudyContext, create
from pmtcore.tables.choices import Choices
from pmtcore.tables.table import Table, read_path
from tests.sites.clock import SharedClock

pytest.importorskip("nacl", reason="the extra 'sites' is not installed")
COLUMNS = ["a", "b", "y"]


def draw(rows: int, seed: int, labels: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 2))
    z = x @ np.array([0.5, -0.3])
    y = (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(int) if labels else 1 + z + rng.standard_normal(rows)
    return pd.DataFrame(np.column_stack([x, y]), columns=COLUMNS)


@dataclass
class Setup:
    """A study with its sites, their files, folders and ledgers."""

    context: StudyContext
    folder: Path
    frames: list[pd.DataFrame]
    public: pd.DataFrame
    sources: dict[str, NoiseSource]
    clock: SharedClock
    board: MemoryBoard = field(default_factory=MemoryBoard)

    def table(self, name: str) -> Table:
        return read_path(self.folder / name / "private.csv", "private")

    def site(self, name: str) -> SiteOfStudy:
        own, source = self.folder / name, self.sources[name]
        return SiteOfStudy(self.context, name, self.table(name), own, self.ledger(name), name, source)

    def ledger(self, name: str) -> Ledger:
        return Ledger(str(self.folder / name / "ledger.db"))

    def run(self, boards=None, names=None):
        """Return the result of the coordinator and of each site: a record, or the error."""
        answers: dict[str, object] = {}

        def take_part(name: str) -> None:
            try:
                answers[name] = self.site(name).run((boards or {}).get(name, self.board))
            except BaseException as error:
                answers[name] = error

        with self.clock.party():
            threads = [self.clock.thread(take_part, name) for name in names or self.context.study.names]
            for thread in threads:
                thread.start()
            try:
                answers[""] = Coordinator(self.context, self.board).run()
            except BaseException as error:
                answers[""] = error
        for thread in threads:
            thread.join()
        return answers


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of all parties of a study in this process."""
    shared = SharedClock()
    monkeypatch.setattr(parties, "monotonic", shared.monotonic)
    monkeypatch.setattr(parties, "sleep", shared.sleep)
    monkeypatch.setattr(transcript, "time", shared)
    return shared


@pytest.fixture
def study(tmp_path, clock):
    """Return a function that makes a study with these rows at each site, method and settings."""

    def make(
        rows=(300, 200, 400),
        method="joint-pmt",
        mu=1.0,
        parameters=None,
        cap=None,
        family="gaussian",
        shifts=None,
        person_rows=None,
        **settings,
    ) -> Setup:
        labels = family != "gaussian"
        frames = [draw(n, 100 + at, labels) for at, n in enumerate(rows)]
        for frame, shift in zip(frames, shifts or (), strict=False):
            frame["y"] += shift
        public = draw(120, 7, labels)
        public.to_csv(tmp_path / "public.csv", index=False)
        request = Request(method, Budget(mu), parameters or {})
        sites = [Site(f"s{at}", n) for at, n in enumerate(rows)]
        person_settings = {} if person_rows is None else {"person": "id", "person_rows": person_rows}
        choices = Choices(target="y", family=family, **person_settings)
        created = create(
            "test", str(tmp_path / "public.csv"), choices, request, sites=sites, **{"patience": 20.0, **settings}
        )
        context, joined = StudyContext.of(created, str(tmp_path)), []
        for site, frame in zip(sites, frames, strict=True):
            site_folder = tmp_path / site.name
            site_folder.mkdir()
            if person_rows is not None:
                frame["id"] = np.arange(len(frame)) // person_rows
            frame.to_csv(site_folder / "private.csv", index=False)
            ledger = Ledger(str(site_folder / "ledger.db"))
            ledger.cap(site.name, (cap or {}).get(site.name, 3.0))
            joined.append(join(context, site.name, site_folder, ledger, dataset=site.name, by="curator"))
        context = StudyContext.of(created.with_keys(joined), str(tmp_path))
        sources = {site.name: SeededNoise(1, at) for at, site in enumerate(sites)}
        return Setup(context, tmp_path, frames, public, sources, clock)

    return make
