"""What every method promises by the contract: parts that come to its budget, a record that comes back."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import tracemalloc

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget, Spend, gaussian_mu, pure_epsilon
from pmtcore.base import private_rows
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.private_rows import PrivateRows
from pmtcore.mechanisms import randomizers
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.facts import Facts, Passes
from pmtcore.methods.registry import make_parameters, method, methods, register
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request, preview, release
from pmtcore.tables.named import entry as entry_of
from pmtcore.tables.named import load
from pmtcore.tables.problem import Problem, prepare
from tests.helpers import suited, total_mu

SOUND = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND]


@pytest.fixture(scope="module")
def problems() -> tuple[Problem, Problem]:
    collected = []
    for id in ("demo", "demo-labels"):
        private, public, _ = load(id, n=300, m=60, d=4)
        collected.append(prepare(private, public, entry_of(id).choices))
    return tuple(collected)


def plan_of(entry, problem, mu, **values):
    return entry.plan(problem.public, problem.private.n, Budget(mu), make_parameters(entry, values))


@pytest.mark.parametrize("mu", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("entry", SOUND, ids=lambda e: e.id)
def test_the_parts_come_to_the_budget(entry, mu, problems):
    """Squared and added, what each mechanism costs is what the plan states; never more than what was asked for."""
    plan = plan_of(entry, suited(entry, *problems), mu)
    parts = plan.parts()
    assert total_mu(parts) == pytest.approx(plan.mu, rel=1e-9) and plan.mu <= mu * (1 + 1e-12)
    assert bool(parts) == (plan.mu > 0)
    for part in parts:
        assert part.sensitivity > 0 and part.sd > 0 and part.times >= 1 and part.statistic


@pytest.mark.parametrize(
    ("id", "values"),
    [
        ("joint-pmt", {"passes": "1"}),
        ("joint-pmt", {"clip": 3.0}),
        ("joint-pmt", {"radius_mode": "inference"}),
        ("dp-gd", {"steps": 7}),
        ("dp-erm", {"noise": "pure"}),
        ("napp-public", {"noise": "pure"}),
        ("napp-public", {"retrieved": "return"}),
        ("napp-public", {"noise": "pure", "retrieved": "return"}),
        ("ldp-whitened", {"randomizer": "privunit"}),
    ],
)
def test_the_parts_come_to_the_budget_whatever_is_chosen(id, values, problems):
    """Purely private plans too: their epsilons add up to the one that implies the budget."""
    entry = method(id)
    plan = plan_of(entry, suited(entry, *problems), 1.5, **values)
    assert total_mu(plan.parts()) == pytest.approx(plan.mu, rel=1e-9) and plan.mu <= 1.5
    pure = plan.facts().pure_epsilon
    assert pure_epsilon(plan.parts()) == pytest.approx(pure or 0.0)
    assert gaussian_mu(plan.parts()) == pytest.approx(0.0 if pure else plan.mu)


def test_spends_compose():
    """Gaussian parts by squares, repeated ones too; a pure part by the mu that its epsilon implies."""
    parts = (Spend.gaussian("a", 3.0, 1.0), Spend.gaussian("b", 2.0, 1.0, 4))
    assert gaussian_mu(parts) == pytest.approx(5.0) and pure_epsilon(parts) == 0
    assert total_mu((*parts, Spend.pure("c", 1.0, 1.0, 0.5))) == pytest.approx(
        math.hypot(5.0, Spend.pure("c", 1.0, 1.0, 0.5).mu)
    )


@pytest.mark.parametrize("entry", methods(), ids=lambda e: e.id)
def test_facts_come_back_from_a_record(entry, problems):
    """One flat mapping of plain types, and the same record from it."""
    result = plan_of(entry, suited(entry, *problems), 1.0).facts()
    assert Facts.from_dict(json.loads(json.dumps(result.as_dict()))) == result


def test_the_keys_of_two_passes():
    """What records have called these figures since they exist."""
    passes = Passes(pilot_share=0.1, counting_share=0.06, expected_clipping_bound=3.0, gradient_noise_sd=0.2)
    result = Facts(radius=2.0, passes=passes, more={"response_scale": 0.5}).as_dict()
    names = {"radius", "response_scale", "passes", "pilot_share", "counting_share"}
    assert set(result) == names | {"expected_clipping_bound", "gradient_noise_sd"}
    assert result["passes"] == 2 and passes.gradient_share == pytest.approx(0.84)


@pytest.mark.parametrize("entry", SOUND, ids=lambda e: e.id)
def test_a_release_comes_back_from_its_record(entry, problems):
    """What a ledger keeps makes the same release again, bands and parts included."""
    released = release(suited(entry, *problems), Request(entry.id, Budget(1.0)), SeededNoise(5))
    record = json.loads(json.dumps(released.as_dict()))
    again = Release.from_dict(record)
    assert json.dumps(again.as_dict()) == json.dumps(released.as_dict())
    assert np.array_equal(again.public.spread, released.public.spread)
    assert [Spend(**part) for part in record["parts"]] == list(released.parts)
    older = {name: value for name, value in record.items() if name != "parts"}
    assert Release.from_dict(older).parts == ()


def test_no_two_methods_look_alike():
    """A second method in a colour of the first, or in one that nobody tells from it, is refused."""
    entry = methods()[0]
    red = int(entry.colour[1:3], 16)
    near = f"#{red - 4 if red > 127 else red + 4:02X}{entry.colour[3:]}"
    for colour in (entry.colour, entry.colour.lower(), near):
        with pytest.raises(ValueError):
            register(dataclasses.replace(entry, id="another", colour=colour))
    with pytest.raises(ValueError):
        register(dataclasses.replace(entry, colour="#000001"))


LOOKING = [
    *((entry, {}) for entry in methods() if entry.role != "public"),
    (method("ldp-whitened"), {"randomizer": "privunit"}),
]
looking = pytest.mark.parametrize(("entry", "values"), LOOKING, ids=lambda e: getattr(e, "id", ""))


@looking
def test_no_method_refuses_rows_for_their_number(entry, values, problems):
    """A plan for a billion rows is made, and no row is read for it."""
    problem = suited(entry, *problems)
    rows = PrivateRows(lambda: pytest.fail("a row was read"), 10**9, problem.private.names)
    large = dataclasses.replace(problem, private=rows)
    assert preview(large, Request(entry.id, Budget(1.0), values)).method is entry


@looking
def test_no_method_holds_all_rows(entry, values, problems, monkeypatch):
    """What a run takes in memory does not grow with the rows, where nothing may be kept between passes."""
    problem = suited(entry, *problems)
    monkeypatch.setattr(private_rows, "_NUMBERS_OF_A_BLOCK", 1)
    monkeypatch.setattr(private_rows, "_ROWS_OF_A_PART", 256)
    monkeypatch.setattr(randomizers, "_CHUNK", 2**10)
    values = {**values, **{name: 3 for name in ("steps", "iterations") if hasattr(entry.parameters, name)}}
    rng, names = np.random.default_rng(3), problem.private.names
    x, labels = rng.standard_normal((256, len(names))), (rng.random(256) < 0.5).astype(float)

    def run(blocks):
        rows = PrivateRows(lambda: itertools.repeat((x, labels), blocks), 256 * blocks, names, keeps=0)
        plan = plan_of(entry, dataclasses.replace(problem, private=rows), 1.0, **values)
        tracemalloc.start()
        plan.run(rows, SeededNoise(1), 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    run(2)
    few, many = run(8), run(40)
    assert many - few < x.nbytes * 32 / len(names) / 2
