"""No figure of a real table may leave without a spend in a ledger: package, command line, application alike."""

from __future__ import annotations

import io
import json
import os

import pandas as pd
import pytest

import pmtcore as pc
from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, LabReason, SpendMessage, kind_of
from pmtcore.cli.main import main
from pmtcore.ledger.account import START_CAP
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.methods.registry import method, methods
from pmtcore.releases.release import Request, recorded_release, release
from tests.helpers import suited
from tests.ledger.test_log import problem, table  # noqa: F401  # fixture

SOUND = [m.id for m in methods() if m.standing is ReleaseStatus.SOUND and "gaussian" in m.families]
SOUND = [id for id in SOUND if "nlr" not in id]  # these have no intercept


@pytest.fixture
def files(tmp_path):
    (tmp_path / "p.csv").write_bytes(table(400, 1))
    (tmp_path / "b.csv").write_bytes(table(50, 2))
    return ["--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv"), "--target", "y"]


@pytest.mark.parametrize("id", SOUND)
def test_outside_a_ledger_every_spend_is_a_lab_figure(problem, id):  # noqa: F811
    """Whatever the method: what costs something and is recorded nowhere is not sound."""
    released = release(suited(method(id), problem), Request(id, Budget(1.0)), SecureNoise())
    free = released.guarantee.mu == 0
    assert (released.standing is ReleaseStatus.SOUND) == free
    assert (LabReason.UNRECORDED in map(kind_of, released.standing_reasons)) != free


def test_its_record_makes_it_sound(problem, tmp_path):  # noqa: F811
    """The same release through a ledger is sound, and names its data set and key; a seed is still lab."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 3.0)
    result = recorded_release(
        problem, Request("joint-pmt", Budget(1.0)), SecureNoise(), ledger, dataset="survey", key="k"
    ).as_dict()
    assert result["standing"] == "sound" and LabReason.UNRECORDED.sentence() not in result["standing_reasons"]
    assert result["ledger"]["dataset"] == "survey" and result["ledger"]["key"] == "k"
    seeded = recorded_release(
        problem, Request("joint-pmt", Budget(1.0)), SeededNoise(1), ledger, dataset="survey", key="l"
    )
    assert seeded.as_dict()["standing"] == "lab"
    assert LabReason.UNRECORDED.sentence() not in seeded.as_dict()["standing_reasons"]


def test_the_command_line_keeps_a_ledger_of_its_own(files, capsys):
    """Without --ledger: the user's own, the file's name, a first cap; said in print; refused at the cap."""
    ask = ["release", *files, "--method", "joint-pmt", "--mu", "2"]
    assert main(ask) == 0
    out = capsys.readouterr().out
    assert os.environ["PMT_LEDGER"] in out and "mu 2 of 3 is spent" in out and "standing: sound" in out
    (account,) = Ledger(os.environ["PMT_LEDGER"]).accounts()
    assert (account.dataset, account.cap, account.spent) == ("p.csv", START_CAP, 2.0)
    assert main([*ask, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["ledger"]["place"] == os.environ["PMT_LEDGER"] and record["ledger"]["key"] == record["ledger_key"]
    assert main(ask) == 3
    assert "pass the cap" in capsys.readouterr().err


def test_where_no_ledger_can_be_written_nothing_is_released(files, capsys, monkeypatch):
    """A sentence and exit status 2; outside a ledger only the lab is left, and it says so."""
    monkeypatch.setenv("PMT_LEDGER", "/nowhere/at/all/ledger.db")
    ask = ["release", *files, "--method", "joint-pmt", "--mu", "1"]
    assert main(ask) == 2
    printed = capsys.readouterr()
    assert "Nothing was released" in printed.err and not printed.out
    assert main([*ask, "--lab"]) == 0
    assert "standing: lab: its spend is in no ledger" in capsys.readouterr().out
    assert main(["release", *files, "--method", "public-only", "--mu", "1"]) == 0
    assert "standing: sound" in capsys.readouterr().out


def test_the_first_cap_is_never_below_the_first_spend(tmp_path):
    """A spend beyond the usual cap is its own cap; a cap that is there stays."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.first_cap("a", 7.0)
    ledger.first_cap("a", 9.0)
    assert ledger.account("a").cap == 7.0
    with pytest.raises((LedgerError, InputError)):
        ledger.first_cap(" ", 1.0)


@pytest.mark.slow
def test_a_name_that_has_other_rows_is_said(files, tmp_path, capsys):
    """On the command line and in Python as on the page; not of the same rows again, nor under a new name."""
    ask = ["release", *files, "--method", "joint-pmt", "--mu", "0.5", "--dataset", "survey"]
    for _ in range(2):
        assert main(ask) == 0
        assert "does not recognise" not in capsys.readouterr().err
    other = tmp_path / "other.csv"
    other.write_bytes(table(400, 7))
    ask[ask.index("--private") + 1] = str(other)
    assert main(ask) == 0
    assert SpendMessage.OTHER_ROWS.sentence(dataset="survey") in capsys.readouterr().err
    public, private = (pd.read_csv(io.BytesIO(table(n, seed))) for n, seed in ((50, 2), (400, 9)))
    for name, said in (("survey", True), ("another", False)):
        model = pc.PrivateRegressor(mu=0.5).fit(private, public, target="y", dataset=name, quiet=True)
        assert (SpendMessage.OTHER_ROWS.sentence(dataset=name) in model.spent_.sentence) == said
