"""The gallery: frozen descriptions, reproducible trials, checks that can fail, storage."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.checks import InputError
from pmtcore.base.records import PrivateRows
from pmtcore.cli.main import main
from pmtcore.mechanisms.noise import ZeroNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import make_parameters, method
from pmtcore.papers.catalogue_page import NOT_AT_HAND
from pmtcore.papers.figures import gallery as pictures
from pmtcore.papers.gallery import central, checks, slopes
from pmtcore.papers.gallery.catalogue import figure, figures
from pmtcore.papers.gallery.engine import Computation, lines_to_mend, load_stored, mended, needed, stale, store
from pmtcore.papers.gallery.findings import Answer, Claim, Curve, Finding
from pmtcore.tables import named
from tests.helpers import TEST

QUICK = 0.35  # seconds a run: all of them together take less than half a minute


def public_only(public):
    """Its fit by itself."""
    entry = method("public-only")
    plan = entry.plan(public, 1235, Budget(1.0), make_parameters(entry, {}))
    return plan.run(
        PrivateRows.from_arrays(np.ones((1235, 5)), np.ones(1235), public.names), ZeroNoise(), 1
    ).coefficients[0]


def curve(name: str, y, x=None) -> Curve:
    y = np.asarray(y, dtype=float)
    x = np.arange(1.0, len(y) + 1) if x is None else np.asarray(x, dtype=float)
    return Curve(name, x, y, y / 100, y, 0.99 * y, 1.01 * y, np.full(len(y), 9), np.zeros(len(y)))


def test_every_figure_has_claim_and_known_methods():
    """Each description is complete, its runs are plain JSON, and no two share an id."""
    ids = [entry.id for entry in figures()]
    assert len(set(ids)) == len(ids)
    assert {f"A{k}" for k in range(1, 11)} | {f"B{k}" for k in range(1, 6)} <= set(ids)
    for entry in figures():
        assert entry.claim and entry.runs and entry.trials >= entry.quick
        json.dumps([run.setting for run in entry.runs])


def test_trials_are_reproducible_and_extend():
    """The same seeds give the same errors, alone, in processes, and as the start of a longer run."""
    short = Computation(figure("B1"), 3).run().curves()
    again = Computation(figure("B1"), 3, workers=2).run().curves()
    for name, found in short.items():
        assert np.array_equal(found.mean, again[name].mean), name
    assert all(np.all(found.trials == 3) for found in short.values())


def test_stopping_keeps_what_is_done():
    """A stopped computation answers from the trials it has."""
    made = Computation(figure("B3k"), 30)
    steps = made.steps()
    for _ in range(10):
        next(steps)
    made.stop()
    assert next(steps, None) is None
    assert 0 < made.share < 1 and made.curves()


def test_whitening_figures_of_paper_b():
    """15.3 before, 2.7 and 1.6 after whitening with 40 and 135 public rows: the figures printed, within 60 draws."""
    made = Computation(figure("B3k"), 60).run()
    found = made.curves()
    after = found["after whitening"]
    assert abs(after.median[after.x == 135][0] - 1.6) < 0.2
    assert abs(after.median[after.x == 40][0] - 2.7) < 0.7
    assert abs(found["before whitening"].median[0] - 15.32) < 2


def test_the_jump_of_figure_two():
    """B, Figure 2: errors fall by far when public rows outnumber the features."""
    made = Computation(figure("B2"), 5).run()
    assert all(entry["answer"] != Answer.FAILS.value for entry in made.figure.verdict(made.curves()))


def test_checks_say_yes_and_no():
    """Each check holds on a curve made for it and fails on one made against it."""
    down, up, level = curve("down", [4, 2, 1]), curve("up", [1, 2, 4]), curve("level", [5, 5.1, 5])
    plateau, valley = curve("plateau", [1, 1.98, 2, 2, 2]), curve("valley", [2, 1, 2, 4])
    known = {c.name: c for c in (down, up, level, plateau, valley)}
    cases = [
        (checks.below("down", "level"), checks.below("level", "down")),
        (checks.falls(["down"]), checks.falls(["up"])),
        (checks.flat("level", 1.1), checks.flat("up", 1.1)),
        (checks.flatter("level", "up"), checks.flatter("up", "level")),
        (checks.last_below("down", "up"), checks.last_below("up", "down")),
        (checks.settles("level"), checks.settles("up")),
        (checks.settles("up", yes=False), checks.settles("level", yes=False)),
        (checks.jump("down", 3, 2.0), checks.jump("up", 3, 2.0)),
        (checks.near("level", 5, 0.1), checks.near("level", 6, 0.1)),
        (checks.near("down", 2, 0.1, 2.0), checks.near("down", 4, 0.1, 2.0)),
        (checks.all_near(["down", "down"], 1, 0.1), checks.all_near(["down", "level"], 1, 0.1)),
        (checks.counted("level", 4, 6), checks.counted("up", 2, 6)),
        (checks.rises(["up", "plateau"]), checks.rises(["valley"])),
        (checks.grows_more("up", "level"), checks.grows_more("down", "level")),
        (checks.counted("up", 0, 5), checks.counted("up", 0, 3)),
        (checks.gains_more(("level", "up"), ("up", "level")), checks.gains_more(("up", "level"), ("level", "up"))),
    ]
    for holds, fails in cases:
        assert holds(known).answer is Answer.HOLDS and fails(known).answer is Answer.FAILS
    assert checks.interior_minimum("dip")({"dip": curve("dip", [2, 1, 2])}).answer is Answer.HOLDS
    assert checks.interior_minimum("down")(known).answer is Answer.FAILS


def noisy(made: Curve, factor: float) -> Curve:
    """The same curve known so much worse."""
    spread = factor * made.median
    return dataclasses.replace(made, sd=spread, low=made.median - 1.28 * spread, high=made.median + 1.28 * spread)


def test_checks_say_when_nobody_can_tell():
    """Each check on curves as noisy as they are apart neither holds nor fails: trials decide, not luck."""
    down, up, level = (
        noisy(curve(n, y), 3.0) for n, y in (("down", [4, 2, 1]), ("up", [1, 2, 4]), ("level", [3, 2, 2]))
    )
    known = {c.name: c for c in (down, up, level)}
    for check in (
        checks.below("down", "level"),
        checks.falls(["down"]),
        checks.flat("up", 2.0),
        checks.flatter("level", "up"),
        checks.last_below("down", "up"),
        checks.alike_at_end("down", "up", 2.0),
        checks.jump("down", 3, 2.0),
        checks.near("level", 2, 0.1),
        checks.interior_minimum("level"),
        checks.counted("up", 0, 3),
        checks.grows_more("up", "level"),
        checks.gains_more(("level", "down"), ("up", "level")),
    ):
        assert check(known).answer is Answer.OPEN


def test_a_claim_that_hangs_on_an_unstated_setting_says_so():
    """No answer is given where the paper leaves open what it was."""
    claim = Claim("It falls.", lambda curves: Finding(Answer.HOLDS, "slope -1"), "T is not stated")
    found = claim.answer({})
    assert not found["holds"] and found["answer"] == Answer.UNSTATED.value and "T is not stated" in found["figures"]


@pytest.mark.filterwarnings("error")
def test_no_claim_breaks_on_curves_without_spread_or_numbers(tmp_path, monkeypatch):
    """One trial, errors of exactly zero, and no number at all: every claim of every figure still answers."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    for entry in figures():
        record = load_stored(entry)
        if record is None:
            continue
        curves = [Curve.from_dict(fields) for fields in record["series"]]
        for change in (
            lambda c: {"sd": 0 * c.mean, "low": c.mean, "high": c.mean, "trials": np.ones(len(c.x))},
            lambda c: dict.fromkeys(("mean", "median", "sd", "low", "high"), 0 * c.x),
            lambda c: dict.fromkeys(("mean", "median", "sd", "low", "high"), np.nan * c.x),
        ):
            changed = {c.name: dataclasses.replace(c, **change(c)) for c in curves}
            assert len(entry.verdict(changed)) == len(entry.claims), entry.id


def test_a_claim_about_a_series_that_is_not_stored_says_so():
    """A result of an earlier version lacks a series: nobody can tell, and the series is named."""
    found = Claim("It is below.", checks.below("a", "b")).answer({"a": curve("a", [1, 2])})
    assert found["answer"] == Answer.OPEN.value and "b is not in the stored result" in found["figures"]


def test_a_stored_result_of_other_code_is_noticed():
    """The first trial is kept; where it comes out differently, the series is named."""
    record = Computation(figure("B3k"), 2).run().as_dict()
    assert stale(figure("B3k"), json.loads(json.dumps(record))) == ()
    record["first"]["after whitening"] = [2 * record["first"]["after whitening"][0]]
    assert stale(figure("B3k"), record) == ("after whitening",)
    assert set(stale(figure("B3k"), {})) == {"before whitening", "after whitening"}


@pytest.mark.parametrize(("id", "changed"), [("B3", "joint-pmt, m = 20"), ("D5f", "napp-public")])
def test_one_changed_method_is_one_line_to_compute(id, changed):
    """Only the lines of the method that comes out differently are made again, as the whole would have them."""
    whole = json.loads(json.dumps(Computation(figure(id), 1).run().as_dict()))
    other = json.loads(json.dumps(whole))
    for fields in other["series"]:
        if fields["name"].startswith(changed.split(",")[0]):
            fields["mean"] = [-1.0 for _ in fields["mean"]]
    other["first"][changed] = [-1.0]
    again = lines_to_mend(figure(id), other)
    every = {fields["name"] for fields in whole["series"]}
    assert changed in again and set(again) < every and len(again) < 4
    made = Computation(figure(id), 1, only=again).run()
    assert set(made.curves()) == set(again)
    assert json.loads(json.dumps(mended(other, made)))["series"] == whole["series"]
    assert stale(figure(id), mended(other, made)) == () and lines_to_mend(figure(id), whole) == ()
    with pytest.raises(ValueError, match="do not fit"):
        mended({**other, "trials": 2}, made)


def test_where_lines_hang_together_all_are_made_again():
    """A trial that gives errors by step, or whose task names its methods itself, is computed whole."""
    for id in ("A8", "C5"):
        record = {"first": {"x": [1.0]}, "series": []}
        assert lines_to_mend(figure(id), record) is None


def power_law(slope: float, spread: float, trials: int, seed: int = 0, name: str = "law") -> Curve:
    """Medians around a power law, as so many trials with this relative spread scatter them."""
    x = np.array([1e4, 5e4, 1.1e5, 2.9e5])
    error = np.sqrt(np.pi / 2) * spread / np.sqrt(trials)
    y = (x / 1e5) ** slope * np.exp(error * np.random.default_rng(seed).standard_normal(4))
    reach = 1.2815515655446004 * spread
    return Curve(name, x, y, spread * y, y, (1 - reach) * y, (1 + reach) * y, np.full(4, trials), np.zeros(4))


def test_a_slope_is_near_only_if_it_is_known_to_be():
    """-1 with few or noisy trials is not known; -0.7 is not -1 however exact; both used to count as -1."""
    near = slopes.slope_near("law", -1.0)
    assert near({"law": power_law(-1.0, 0.3, 100)}).answer is Answer.HOLDS
    assert near({"law": power_law(-0.69, 0.05, 100)}).answer is not Answer.HOLDS
    assert near({"law": power_law(-1.0, 3.0, 4, seed=2)}).answer is not Answer.HOLDS
    assert near({"law": power_law(-0.5, 3.0, 4)}).answer is not Answer.HOLDS
    above = slopes.slope_above("law", 0.0)
    assert (
        above({"law": power_law(1.5, 0.3, 100)}).answer is Answer.HOLDS
        and above({"law": power_law(0.16, 1.0, 4)}).answer is not Answer.HOLDS
    )
    none = {"median": np.array([1.0, np.inf, 1.0, 1.0]), "trials": np.array([9, 1, 9, 9])}
    broken = dataclasses.replace(power_law(-1.0, 0.1, 9), **none, omitted=np.array([0, 8, 0, 0]))
    assert near({"law": broken}).answer is Answer.FAILS and above({"law": broken}).answer is Answer.FAILS
    few = dataclasses.replace(broken, trials=np.array([2, 1, 2, 2]), omitted=np.array([0, 1, 0, 0]))
    assert near({"law": few}).answer is Answer.OPEN and "1 of 2 trials" in near({"law": few}).figures


def test_slope_intervals_cover():
    """95 % intervals hold the true slope in at least 93 % of 2,000 draws (odds of fewer: 1e-6)."""
    curves = [power_law(-1.0, 0.5, 20, seed) for seed in range(2000)]
    found = [slopes.fitted_slope(c.x, c.median, c.doubt("median"), c.trials) for c in curves]
    assert np.mean([slope.low <= -1.0 <= slope.high for slope in found]) > 0.93


@pytest.mark.parametrize("law", ["normal", "lognormal", "heavy"])
def test_a_median_is_known_as_well_as_it_is_said_to_be(law):
    """Over 2,000 sets of 100 trials the log of the median scatters as its doubt says: from as much to half of it."""
    rng = np.random.default_rng(5)
    draws = {
        "normal": lambda: 1 + 0.2 * rng.standard_normal((2000, 100)),
        "lognormal": lambda: np.exp(1.5 * rng.standard_normal((2000, 100))),
        "heavy": lambda: np.abs(rng.standard_t(1.0, (2000, 100))),
    }[law]()
    low, middle, high = np.quantile(draws, [0.1, 0.5, 0.9], axis=1)
    made = Curve("law", np.arange(2000.0), middle, middle, middle, low, high, np.full(2000, 100), np.zeros(2000))
    ratio = np.std(np.log(middle)) / np.mean(made.doubt("median"))
    assert 0.5 < ratio < 1.1, ratio


def test_a_slope_across_curves_is_that_of_their_last_points():
    """Errors proportional to 1/epsilon^2 at the largest n."""
    curves = {f"e{e}": dataclasses.replace(power_law(-1.0, 0.1, 400), name=f"e{e}") for e in (2, 3, 5, 10)}
    curves = {
        f"e{e}": dataclasses.replace(c, median=c.median / e**2, low=c.low / e**2, high=c.high / e**2)
        for e, c in zip((2, 3, 5, 10), curves.values(), strict=True)
    }
    named = {float(e): f"e{e}" for e in (2, 3, 5, 10)}
    assert slopes.slope_across(named, -2.0)(curves).answer is Answer.HOLDS
    assert slopes.slope_across(named, -1.0)(curves).answer is Answer.FAILS


def test_a_curve_survives_storage():
    """A median that is infinite, since most trials have no estimate, is infinite again, and above every other."""
    made = dataclasses.replace(curve("a", [1, 2, 3]), median=np.array([1.0, np.inf, 3.0]))
    back = Curve.from_dict(json.loads(json.dumps({**made.as_dict(), "median": [1.0, None, 3.0]})))
    assert np.array_equal(back.median, made.median)
    assert checks.below("b", "a", "median")({"a": back, "b": curve("b", [0.5, 0.5, 0.5])}).answer is Answer.HOLDS


def test_a_stored_verdict_is_that_of_the_checks_of_today(tmp_path, monkeypatch):
    """A verdict in the file is not believed: it is made again from the series."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    record = Computation(figure("B2"), 1).run().as_dict()
    store({**record, "trials": 10_000, "verdict": [{"claim": "all is well", "holds": True, "figures": ""}]})
    loaded = load_stored(figure("B2"))
    assert loaded["trials"] == 10_000 and len(loaded["verdict"]) == len(figure("B2").claims)
    assert "all is well" not in str(loaded["verdict"])


def test_results_are_stored_with_their_description(tmp_path, monkeypatch):
    """A stored result is found again; one of another description is not; failures do not break JSON."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    made = Computation(figure("B2"), 1).run()
    record = made.as_dict()
    record["trials"] = 10_000  # more than any that ships
    store(record)
    assert load_stored(figure("B2"))["trials"] == 10_000
    store({**record, "digest": "other"})
    assert (load_stored(figure("B2")) or {}).get("trials") != 10_000
    store({**record, "series": [{**record["series"][0], "mean": [float("inf")]}]})


def test_every_shipped_result_belongs_to_its_figure(tmp_path, monkeypatch):
    """What ships was computed from the description that ships, and draws."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    for entry in figures():
        if entry.needs in NOT_AT_HAND:
            continue
        record = load_stored(entry)
        assert record is not None, f"{entry.id} has no stored result of its description"
        assert record["trials"] >= entry.quick
        assert len(pictures.picture(entry, record).data) == 3 * len(record["series"])
        assert len(pictures.table(record)) and len(pictures.verdict_words(record["verdict"])) == len(entry.claims)


def test_shipped_results_are_those_of_todays_code(tmp_path, monkeypatch):
    """The first trial of each figure comes out as stored; figures whose trial takes long are left to ``--check``."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    quick = 0
    for entry in figures():
        record = load_stored(entry)
        if record is None or record.get("seconds_per_trial", np.inf) > QUICK * len(entry.runs):
            continue
        try:
            needed(entry)
        except InputError:
            continue  # its table is not here
        assert stale(entry, record) == (), f"{entry.id}: compute it again, or mend what changed it"
        quick += 1
    assert quick >= 15


def test_the_settings_that_papers_state():
    """A fixed reference, known bounds, grids and choices as printed; errata and times beside the figure."""
    assert {run.setting["reference"] for run in figure("A10").runs} == {0.0}
    assert {run.setting["reference"] for run in figure("A10b").runs} == {0.01}
    tried = {series: (id, values) for series, id, _, values in figure("A1").runs[0].setting["tried"]}
    assert tried["DP-RR"] == ("dp-ridge-public", {"eta": 0.05, "known": True})
    assert [run.x for run in figure("B1").runs] == [3000, 3500, 4000, 5000, 6000, 8000, 10_000]
    assert "E21" in pictures.errata_of(figure("A4")) and "E20" in pictures.errata_of(figure("A1"))
    assert pictures.errata_of(figure("D8"))[0] == "E8" and set(figure("C5").methods) == {"ldp-nlr"}
    record = {"trials": 10, "computed": "today", "seconds_per_trial": 30.0, "first": {"a": [1.0]}}
    assert "by an earlier version of the code" in pictures.trials_words(figure("A1"), {**record, "first": {}})
    assert "take about 2.5 hours on one core" in pictures.trials_words(figure("A1"), record)
    assert pictures.wait_words(record, 4) == "2 minutes" and pictures.wait_words(None, 4) == ""
    assert "as many as the paper has" in pictures.trials_words(figure("A1"), {**record, "trials": 300})


def test_a_fixed_reference_is_one_fit(monkeypatch):
    """With a reference the distance at every penalty is to the same fit: that of the problem at that penalty."""
    problem = {"table": "banknote", "m": 137, "scale": "z", "family": "logistic", "one": True}
    if not named.entry("banknote").available:
        pytest.skip("the table is not here")
    tried = [("public", "public-only", 1.0, {})]
    at = central.trial(0, problem={**problem, "lam": 0.01}, tried=tried)
    fixed = central.trial(0, problem={**problem, "lam": 0.05}, tried=tried, reference=0.01)
    own = central.trial(0, problem={**problem, "lam": 0.05}, tried=tried)
    public, rows, _ = central.sides(0, **problem, lam=0.05)
    fit = exact_fit(dataclasses.replace(public, lam=0.01), rows).reveal(TEST)
    assert fixed["public"][0] == pytest.approx(np.linalg.norm(public_only(public) - fit))
    assert len({at["public"][0], fixed["public"][0], own["public"][0]}) == 3


def test_command(tmp_path, monkeypatch, capsys):
    """The list and one figure, with the keys that scripts rely on."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    assert main(["gallery", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["figures"][0]) == {"id", "title", "claim", "trials"}
    assert main(["gallery", "B3k", "--trials", "2", "--workers", "0", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {"id", "title", "claim", "trials", "series", "verdict"} <= set(record)
    assert main(["gallery", "Z9"]) == 2
    assert "choose one of" in capsys.readouterr().err


def test_the_command_mends_what_is_stale(tmp_path, monkeypatch, capsys):
    """Once it computes and stores; the second time there is nothing to do."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    record = load_stored(figure("D1b"))
    store({**record, "computed": "2999-01-01", "first": {name: [-1.0] for name in record["first"]}})
    assert main(["gallery", "D1b", "--mend", "--workers", "0"]) == 0
    assert stale(figure("D1b"), json.loads((tmp_path / "D1b.json").read_text())) == ()
    assert main(["gallery", "D1b", "--mend"]) == 0
    assert "nothing to compute" in capsys.readouterr().out


def test_a_missing_table_is_a_sentence(tmp_path, monkeypatch):
    """A figure on a real table says which one is missing."""
    monkeypatch.setenv("PMT_DATA_DIR", str(tmp_path))
    with pytest.raises(ValueError, match="not on this machine"):
        Computation(figure("A4"), 1)
