"""Progress of a release: every look told, Stop heard until the spend and never after it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget, Unit
from pmtcore.base.labels import ReleaseStatus
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import method, methods
from pmtcore.releases import progress as progress_module
from pmtcore.releases.progress import Progress, Report, Stopped, in_time
from pmtcore.releases.release import Request, progress_of, recorded_release, release
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path, table_from, with_rows

N = 70_000


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> tuple[Path, Path]:
    home, rng = tmp_path_factory.mktemp("progress"), np.random.default_rng(5)
    x = rng.standard_normal((N + 200, 3))
    frame = pd.DataFrame(x, columns=list("abc")).assign(y=x.sum(axis=1) + rng.standard_normal(N + 200))
    frame[:N].to_parquet(home / "p.parquet")
    frame[N:].to_csv(home / "b.csv", index=False)
    return home / "p.parquet", home / "b.csv"


def problem_of(places):
    return prepare(read_path(str(places[0]), "private"), read_path(str(places[1]), "public"), Choices(target="y"))


@pytest.mark.slow
@pytest.mark.parametrize("rows_stay", [True, False])
@pytest.mark.parametrize("id", ["joint-pmt", "pmt-gradients", "joint-moment"])
def test_every_look_is_told_and_there_are_no_more_than_promised(places, id, rows_stay):
    """Shares rise to 1 within each look; the figures are the same as unwatched; all are told where none is kept."""
    problem, request, reports = problem_of(places), Request(id, Budget(1.0)), []
    if not rows_stay:
        problem.private._keeps = 0
    watched = progress_of(problem, request, reports.append)
    watched.spend()
    first = release(problem, request, SeededNoise(1), watched)
    assert np.array_equal(first.coefficients, release(problem, request, SeededNoise(1)).coefficients)
    assert reports and all(0 < r.share <= 1 and r.number <= r.n_passes and r.spent for r in reports)
    assert reports[-1].share == 1.0 and (rows_stay or reports[-1].number == reports[-1].n_passes)
    assert all("pass" in r.words and r.share_done <= 1 for r in reports)


SOLVED = [entry.id for entry in methods() if entry.standing is ReleaseStatus.SOUND and not entry.local]


@pytest.mark.parametrize("id", SOLVED)
def test_no_progress_tells_how_often_a_solver_read_the_rows(id):
    """Tables of one size, of which solvers need other numbers of passes, with nothing kept: the same places are told.

    A release of `dp-erm` from a large table said "pass 5 of at most 1".
    """
    entry = method(id)
    binary = "gaussian" not in entry.families
    covariates = "public" if entry.protects_responses_only else "private"
    choices = Choices(target="y", family=entry.families[0], covariates=covariates)
    told = []
    for size in (1.0, 30.0, 0.0):
        rng = np.random.default_rng(3)
        a = rng.normal(size=260)
        y = (rng.random(260) < 0.5).astype(int) if binary else a + rng.normal(size=260)
        frame = pd.DataFrame({"a": a, "y": y})
        private = frame[:200].assign(a=size * a[:200])
        problem = prepare(table_from(private, "p", "private"), table_from(frame[200:], "b", "public"), choices)
        problem.private._keeps = 0
        reports: list[Report] = []
        watched = progress_of(problem, Request(id, Budget(1.0)), reports.append)
        watched.spend()
        release(problem, Request(id, Budget(1.0)), SeededNoise(1), watched)
        assert all(1 <= report.number <= report.n_passes for report in reports)
        told.append({(report.number, report.share) for report in reports})
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_stopped_before_the_spend_nothing_is_spent(places, tmp_path, after):
    """At any block of the look that knows the table again."""
    book, reports = Ledger(str(tmp_path / "l.db")), []
    book.cap("d", 5.0)
    problem, request = problem_of(places), Request("joint-pmt", Budget(1.0))
    stoppable = progress_of(problem, request, reports.append, lambda: len(reports) >= after)
    with pytest.raises(Stopped):
        recorded_release(problem, request, SeededNoise(1), book, dataset="d", key="k", progress=stoppable)
    assert book.entry("k") is None and book.account("d").spent == 0 and not any(r.spent for r in reports)


def test_after_the_spend_stop_is_not_heard(places, tmp_path):
    """It finishes: what is spent has its figures."""
    book, reports = Ledger(str(tmp_path / "l.db")), []
    book.cap("d", 5.0)
    problem, request = problem_of(places), Request("joint-pmt", Budget(1.0))
    late = progress_of(problem, request, reports.append, lambda: any(r.spent for r in reports))
    recorded = recorded_release(problem, request, SeededNoise(1), book, dataset="d", key="k", progress=late)
    assert recorded.record["coefficients"] and book.account("d").spent == pytest.approx(1.0)


@pytest.mark.parametrize("spent", [False, True])
def test_what_an_interrupt_costs_is_said(places, tmp_path, monkeypatch, capsys, spent):
    """Ctrl-C in the command line, before and after: a sentence, exit 130, and the ledger as the sentence says."""
    ledger = ["--ledger", str(tmp_path / "l.db"), "--dataset", "d"]
    assert main(["ledger", "cap", *ledger, "--mu", "5"]) == 0
    observed = Progress.rows

    def interrupted(self, count):
        observed(self, count)
        if self.spend_begun == spent:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "rows", interrupted)
    private, public = map(str, places)
    command = ["release", "--private", private, "--public", public, "--target", "y", "--method", "joint-pmt"]
    assert main([*command, "--mu", "1", *ledger, "--key", "k"]) == 130
    text = capsys.readouterr().err
    assert ("The budget is spent" in text) == spent and ("nothing was spent" in text) != spent
    assert text.startswith("pmtcore: Stopped. ") and ".." not in text.rstrip().replace(ledger[1], "")
    assert (Ledger(ledger[1]).entry("k") is not None) == spent


def test_lines_are_written_where_asked(places, monkeypatch, capsys):
    """With --progress, after a second; the answer on standard output stays what it is."""
    monkeypatch.setattr("pmtcore.cli.releases._DELAY", 0.0)
    monkeypatch.setattr("pmtcore.cli.releases._INTERVAL", 0.0)
    private, public = map(str, places)
    command = ["release", "--private", private, "--public", public, "--target", "y", "--method", "joint-pmt"]
    assert main([*command, "--mu", "1", "--lab", "--seed", "1", "--progress"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"pass 1 of at most \d over the private rows: ", err) and "pass 1" not in out
    assert main([*command, "--mu", "1", "--lab", "--seed", "1"]) == 0
    assert capsys.readouterr() == (out, "") and not sys.stderr.isatty()


def test_time_left_is_told_from_the_speed(monkeypatch):
    """A hundred rows a second, three looks of a thousand."""
    clock = [0.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: clock[0])
    reports: list[Report] = []
    progress = Progress(1000, 3, reports.append)
    progress.spend()
    progress.begin()
    for _ in range(5):
        clock[0] += 1.0
        progress.rows(100)
    assert reports[-1].left == pytest.approx(25.0) and reports[-1].share_done == pytest.approx(0.5 / 3)
    assert in_time(0.2) == "1 s" and in_time(600) == "10 minutes" and in_time(7200) == "2.0 hours"


@pytest.mark.parametrize("rows", [3, 2000])
@pytest.mark.parametrize("form", ["people", "declared"])
def test_progress_does_not_tell_a_private_number_of_rows(form, rows):
    """Of people's rows and of those of a declared n: neither the shares nor the words, in any look."""
    rng, reports = np.random.default_rng(3), []
    few = pd.DataFrame({"a": rng.normal(size=rows), "y": rng.normal(size=rows), "who": np.arange(rows) % 3})
    public = pd.DataFrame({"a": rng.normal(size=50), "y": rng.normal(size=50)})
    private = table_from(few, "p", "private")
    choices = Choices(target="y", features=("a",))
    if form == "people":
        choices = choices.of_person(Unit(5, "who"))
    if form == "declared":
        private = with_rows(private, 1000)
    problem = prepare(private, table_from(public, "b", "public"), choices)
    request = Request("joint-pmt", Budget(1.0))
    progress = progress_of(problem, request, reports.append)
    hash_cells(private, bytes(16), watch=progress)
    progress.spend()
    release(problem, request, SeededNoise(1), progress)
    assert reports and {r.share for r in reports} == {0.0} and all(r.left is None for r in reports)
    assert not any("%" in r.words for r in reports) and reports[-1].number >= 1
