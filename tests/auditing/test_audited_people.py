"""Audits whose neighbours differ in a person: as many rows as somebody has, the claim is for all that count."""

from __future__ import annotations

import json

import pytest

from pmtcore.accounting.budgets import FIRST, MEAN
from pmtcore.auditing.lower_bound import People, audit
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import AuditMessage
from pmtcore.cli.main import main
from pmtcore.methods.registry import methods
from tests.helpers import refused

CENTRAL = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND and not entry.local]
NUMBERS = [entry.id for entry in CENTRAL if "gaussian" in entry.families]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "rows", "rule"),
    [(entry.id, 2, FIRST) for entry in CENTRAL] + [*((id, 1, MEAN) for id in NUMBERS)],
)
def test_a_person_is_told_apart_no_better_than_claimed(id, rows, rule):
    """A thousand rows against ten others, of the worst kinds: below rows times mu; tight where the method is."""
    audited = audit(id, 0.7, 6_000, people=People.of(rows, rule))
    assert audited.claimed <= rows * 0.7 * (1 + 1e-9) and not audited.violated, audited.verdict


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "rule"), [(1, FIRST), (2, FIRST), (1, MEAN)])
def test_the_attack_on_a_person_comes_near_the_claim(rows, rule):
    """So near that a bound broken by half would show."""
    audited = audit("joint-pmt", 0.7, 20_000, people=People.of(rows, rule), passes="1")
    assert not audited.violated and audited.lower_bound > 0.75 * audited.claimed


@pytest.mark.slow
@pytest.mark.parametrize("rule", [FIRST, MEAN])
def test_a_broken_bound_is_caught(rule):
    """More rows kept than were promised, or sums where a mean was promised."""
    one = People.of(1, rule)
    people = People(one.unit, applied=People.of(3 if rule == FIRST else 2, FIRST).unit)
    assert audit("joint-pmt", 1.0, 10_000, people=people, passes="1").violated


@pytest.mark.slow
def test_what_has_no_people(capsys):
    """Reports are one person's each; labels have no mean; the command says so, and audits one method by people."""
    with refused(AuditMessage.REPORT_IS_ONE_ROW):
        audit("ldp-whitened", 1.0, 2000, people=People.of(2, FIRST))
    with refused(AuditMessage.LABELS_HAVE_NO_MEAN):
        audit("pmt-objective", 1.0, 2000, people=People.of(1, MEAN))
    assert main(["audit", "joint-pmt", "--trials", "2000", "--rows-per-person", "3", "--mu", "0.5", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["claimed"] == 1.5 and "rows of one person" in record["pair"]
    assert main(["audit", "all", "--rows-per-person", "3"]) == 2 and "name one" in capsys.readouterr().err
