"""The gallery: frozen descriptions, reproducible trials, checks that can fail, storage."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.mechanisms.noise import ZeroNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import make_parameters, method, methods
from pmtcore.papers.catalogue_page import NOT_AT_HAND
from pmtcore.papers.figures import gallery as pictures
from pmtcore.papers.gallery import central, checks, claims, engine
from pmtcore.papers.gallery.catalogue import figure, figures
from pmtcore.papers.gallery.claims import FEWEST_TRIALS, Answer, Claim, ClaimFinding, Curve, not_drawn, spread_of
from pmtcore.papers.gallery.engine import (
    Computation,
    Figure,
    compute_all,
    load_stored,
    needed,
    probe,
    stale,
    store,
)
from pmtcore.papers.gallery.unsettled import OpenReason, open_claims
from pmtcore.tables import named
from tests.helpers import TEST, refused

QUICK = 0.35  # seconds a run: all of them together take less than half a minute


def public_only(public):
    """Its fit by itself."""
    entry = method("public-only")
    plan = entry.plan(public, 1235, Budget(1.0), make_parameters(entry, {}))
    return plan.run(
        PrivateRows.from_arrays(np.ones((1235, 5)), np.ones(1235), public.names), ZeroNoise(), 1
    ).coefficients[0]


TRIALS = 60
# Figures whose first trials take minutes: `gallery --all` computes them, and the page says that nobody has yet.
LONG = {"C6", "D6", "D6b", "D6c"}


def curve(name: str, y, x=None, spread: float = 0.01, seed: int = 0, common: np.ndarray | None = None) -> Curve:
    """Trials that scatter around y by a relative spread, symmetrically, so that means and medians are y."""
    y = np.asarray(y, dtype=float)
    x = np.arange(1.0, len(y) + 1) if x is None else np.asarray(x, dtype=float)
    half = np.random.default_rng(seed).standard_normal((TRIALS // 2, len(y)))
    scatter = np.vstack([half, -half]) if common is None else common
    return Curve(name, x, y * np.exp(spread * scatter) if spread > 0.5 else y * (1 + spread * scatter))


def test_every_figure_has_claim_and_known_methods():
    """Each description is complete, its runs are plain JSON, and no two share an id."""
    ids = [entry.id for entry in figures()]
    assert len(set(ids)) == len(ids)
    assert {f"A{k}" for k in range(1, 11)} | {f"B{k}" for k in range(1, 6)} <= set(ids)
    for entry in figures():
        assert entry.runs and entry.trials >= entry.quick
        assert entry.claim or entry.id in ("C7b", "D8b"), "the paper has no sentence on 7(b), nor on labels in 8"
        json.dumps([run.setting for run in entry.runs])


@pytest.mark.slow
def test_trials_are_reproducible_and_extend():
    """The same seeds give the same errors, alone, in processes, and as the start of a longer run."""
    short = Computation(figure("B1"), 3).run().curves()
    again = Computation(figure("B1"), 3, workers=2).run().curves()
    for name, result in short.items():
        assert np.array_equal(result.mean, again[name].mean), name
    assert all(result.count == 3 for result in short.values())


def test_stopping_keeps_what_is_done():
    """A stopped computation answers from the trials it has."""
    made = Computation(figure("B3k"), 30)
    steps = made.steps()
    for _ in range(10):
        next(steps)
    made.stop()
    assert next(steps, None) is None
    assert 0 < made.share < 1 and made.curves()


@pytest.mark.slow
def test_whitening_figures_of_paper_b():
    """15.3 before, 2.7 and 1.6 after whitening with 40 and 135 public rows: the figures printed, within 60 draws."""
    made = Computation(figure("B3k"), 60).run()
    result = made.curves()
    after = result["after whitening"]
    assert abs(after.median[after.x == 135][0] - 1.6) < 0.2
    assert abs(after.median[after.x == 40][0] - 2.7) < 0.7
    assert abs(result["before whitening"].median[0] - 15.32) < 2


@pytest.mark.slow
def test_the_jump_of_figure_two():
    """B, Figure 2: errors fall by far when public rows outnumber the features."""
    made = Computation(figure("B2"), 5).run()
    assert all(entry["answer"] != Answer.FAILS.value for entry in made.figure.verdict(made.curves()))


def test_medians_are_compared_trial_by_trial():
    """A step that lowers the error of every trial by a hundredth is seen through a spread between trials of e."""
    draws = np.random.default_rng(3).standard_normal((TRIALS, 2))
    before = curve("before", [1.0, 2.0], spread=1.0, common=draws)
    after = Curve("after", before.x, 0.99 * before.values)
    known = {"before": before, "after": after}
    for check in (
        checks.below("after", "before", "median"),
        checks.last_below("after", "before", statistic="median"),
        checks.below_somewhere([("after", "before")], "median", mostly=True),
    ):
        assert check(known).answer is Answer.HOLDS
    reversed_check = checks.below("before", "after", "median")(known)
    assert reversed_check.answer is Answer.FAILS
    assert "before is in the median trial 1.01 times after" in reversed_check.figures
    lost = {name: Curve(name, each.x, np.where(draws > 0.4, np.inf, each.values)) for name, each in known.items()}
    assert checks.below("after", "before", "median")(lost).answer is Answer.HOLDS
    amount = checks.falls_more(("before", "after"), ("after", "after"))(known)
    assert amount.answer is Answer.HOLDS


def test_a_curve_without_estimates_in_most_trials_is_above_one_that_has_them():
    """A ratio of 0 in most trials has no standard error, and is below 1 all the same; in half of them nobody knows."""
    draws = np.random.default_rng(5).standard_normal((TRIALS, 1))
    every = curve("every", [1.0], common=draws)

    def lacking(share: float) -> Curve:
        values = every.values.copy()
        values[: int(share * TRIALS)] = np.inf
        return Curve("lacking", every.x, values)

    known = {"every": every, "lacking": lacking(0.8)}
    finding = checks.below("every", "lacking", "median")(known)
    assert finding.answer is Answer.HOLDS and "no estimate in most trials" in finding.figures
    assert checks.below("lacking", "every", "median")(known).answer is Answer.FAILS
    known["lacking"] = lacking(0.52)
    assert checks.below("every", "lacking", "median")(known).answer is Answer.OPEN


def test_a_tie_of_most_trials_is_no_point_that_refutes():
    """At the first x two methods say the same in two trials of three: it counts for neither side."""
    worse = curve("worse", [1.0, 1.0], spread=0.0)
    better = Curve("better", worse.x, 0.99 * worse.values)
    better.values[: 2 * TRIALS // 3, 0] = 1.0
    assert checks.below("better", "worse", "median")({"better": better, "worse": worse}).answer is Answer.HOLDS


def test_ratios_near_one_show_their_side():
    """0.99992 is not written as 1."""
    near, far = curve("near", [0.99992], [1.0], spread=0.0), curve("far", [1.0], [1.0], spread=0.0)
    assert "0.99992 times far" in checks.below("near", "far", "median")({"near": near, "far": far}).figures


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
        (
            checks.falls_more(("level", "up"), ("up", "level"), share=True),
            checks.falls_more(("up", "level"), ("level", "up"), share=True),
        ),
        (checks.falls_more(("level", "up"), ("up", "level")), checks.falls_more(("up", "level"), ("level", "up"))),
        (
            checks.falls_more(("up", "down"), ("down", "up"), last=True),
            checks.falls_more(("up", "down"), ("down", "up")),
        ),
        (
            checks.falls_more(("up", "down"), ("down", "up"), share=True, last=True),
            checks.falls_more(("up", "down"), ("down", "up"), share=True),
        ),
    ]
    for holds, fails in cases:
        assert holds(known).answer is Answer.HOLDS and fails(known).answer is Answer.FAILS
    assert checks.counted("up", 0, 1.5, first=True)(known).answer is Answer.HOLDS
    turned = [("up", "down")]  # below at the first of three, equal at the second, above at the last
    for check, answer in (
        (checks.below_somewhere(turned), Answer.HOLDS),
        (checks.below_somewhere([("down", "level")], mostly=True), Answer.HOLDS),
        (checks.below_somewhere([("level", "down")]), Answer.FAILS),
        (checks.below_somewhere([("level", "down")], mostly=True), Answer.FAILS),
    ):
        assert check(known).answer is answer
    assert checks.interior_minimum("dip")({"dip": curve("dip", [2, 1, 2])}).answer is Answer.HOLDS
    assert checks.interior_minimum("down")(known).answer is Answer.FAILS


def test_checks_say_when_nobody_can_tell():
    """Each check at the border of its claim neither holds nor fails in most of ten sets: trials decide, not luck."""

    def scattered(seed: int) -> dict[str, Curve]:
        truth = {"down": [2.04, 2.02, 2.0], "up": [1.0, 1.4, 2.0], "level": [2.0, 2.0, 2.0], "half": [2.0, 2.0, 1.0]}
        return {
            name: curve(name, y, spread=0.3, common=np.random.default_rng((seed, k)).standard_normal((TRIALS, 3)))
            for k, (name, y) in enumerate(truth.items())
        }

    for check in (
        checks.below("down", "level"),
        checks.falls(["down"]),
        checks.rises(["level"]),
        checks.flat("up", 2.0),
        checks.flatter("level", "down"),
        checks.last_below("down", "level"),
        checks.alike_at_end("half", "up", 2.0),
        checks.jump("half", 3, 2.0),
        checks.near("level", 2.1, 0.1),
        checks.interior_minimum("level"),
        checks.counted("up", 0, 2.0),
        checks.grows_more("level", "down"),
        checks.falls_more(("level", "down"), ("down", "level"), share=True),
        checks.falls_more(("level", "down"), ("down", "level")),
    ):
        answers = [check(scattered(seed)).answer for seed in range(10)]
        assert answers.count(Answer.OPEN) >= 6, (check, answers)


def test_a_claim_that_hangs_on_an_unstated_setting_says_so():
    """What does not come out with the setting taken here may be for the setting; what does holds, and that is said."""
    for came_out in (Answer.FAILS, Answer.OPEN):
        told = Claim("It falls.", lambda _, came=came_out: ClaimFinding(came, "slope -1"), "T is not stated").answer({})
        assert not told["holds"] and told["answer"] == Answer.UNSTATED.value and "T is not stated" in told["figures"]
    told = Claim("It falls.", lambda _: ClaimFinding(Answer.HOLDS, "slope -1"), "T is not stated").answer({})
    assert told["holds"] and not told["unstated"] and "setting taken here" in told["lines"][0]


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_no_claim_breaks_on_curves_without_spread_or_numbers():
    """One trial, errors of exactly zero, and no estimate at all: every claim of every figure still answers."""
    for entry in figures():
        record = load_stored(entry)
        if record is None:
            continue
        curves = [Curve.from_dict(fields) for fields in record["series"]]
        for change in (lambda v: v[:1], lambda v: 0 * v, lambda v: np.full(v.shape, np.inf)):
            changed = {c.name: Curve(c.name, c.x, change(np.nan_to_num(c.values, posinf=1.0))) for c in curves}
            assert len(entry.verdict(changed)) == len(entry.claims), entry.id


def _place(words: str) -> tuple[float, float, float]:
    """Return the x that a verdict names, and its interval."""
    at, low, high = re.search(r"at x = ([\d.,]+) it is [\d.,e-]+ \[([\d.,e-]+), ([\d.,e-]+)\]", words).groups()
    return tuple(float(number.replace(",", "")) for number in (at, low, high))


@pytest.mark.parametrize(
    "check",
    [checks.below("a", "b"), checks.alike([("a", "b")], 1.5), checks.below("a", "b", "sd")],
    ids=["below", "alike", "below in sd"],
)
def test_a_verdict_follows_from_the_numbers_beside_it(check):
    """The interval that is printed is that of the x that decides, and lies on the side that the answer says."""
    rng, told = np.random.default_rng(17), set()
    for middle in (0.4, 0.8, 0.95, 1.0, 1.4, 1.49, 3.0):
        b = curve("b", [1.0, 1.0, 1.0], spread=0.4, common=rng.standard_normal((TRIALS, 3)))
        a = curve("a", [0.75, middle, 0.8], spread=0.4, common=rng.standard_normal((TRIALS, 3)))
        result = check({"a": a, "b": b})
        border = 1.5 if "larger" in result.figures else 1.0
        _, low, high = _place(result.figures)
        answer = Answer.HOLDS if high < border else Answer.FAILS if low >= border else Answer.OPEN
        assert answer is result.answer, (middle, result)
        told.add(answer)
    assert len(told) >= 2


def test_no_verdict_prints_a_number_that_is_none():
    """Too few trials, no scatter, nothing at all, and no estimate: words, and never nan or inf."""
    scatter = np.random.default_rng(3).standard_normal((TRIALS, 3))
    odd = {
        "two": lambda v: v[:2],
        "five": lambda v: v[:5],
        "zero": lambda v: 0 * v,
        "lost": lambda v: np.full(v.shape, np.inf),
    }
    for change in odd.values():
        curves = {
            name: Curve(name, made.x, change(made.values))
            for name, made in (
                (n, curve(n, y, spread=0.3, common=scatter)) for n, y in (("a", [1, 2, 3]), ("b", [3, 2, 1]))
            )
        }
        for check in (
            *(checks.below("a", "b", s) for s in ("mean", "median", "sd")),
            checks.alike([("a", "b")], 2.0),
            checks.alike_at_end("a", "b", 2.0),
            checks.last_below("a", "b"),
            checks.falls(["a", "b"], "sd"),
            checks.rises(["a"]),
            checks.flat("a", 2.0),
            checks.flatter("a", "b"),
            checks.lasting(["a"], 1.1),
            checks.falls_more(("a", "b"), ("b", "a"), share=True),
            checks.grows_more("a", "b"),
            checks.near("a", 2.0, 0.1),
            checks.jump("a", 2.0, 2.0),
            checks.settles("a"),
            checks.slope_near("a", -1.0),
        ):
            result = Claim("It is so.", check).answer(curves)
            assert not re.search(r"\b(nan|inf)\b|\[[^]]*(unknown|infinite)", result["figures"]), result


def test_claims_of_this_project_are_not_the_papers():
    """What a paper says does not contain what this project adds, in the text and among the answers."""
    entry = figure("D5b")
    ours = [claim.words for claim in entry.claims if claim.ours]
    verdict = entry.verdict({})
    assert ours and all(words not in entry.claim for words in ours)
    assert [one.words.split(": ", 1)[1] for one in pictures.verdicts(verdict, ours=True)] == ours
    assert len(pictures.verdicts(verdict)) + len(ours) == len(verdict)


def test_each_unstated_setting_is_said_once():
    """Claims that depend on the same setting share its letter; theirs is an answer of its own."""
    entry = figure("A9")
    record = load_stored(entry)
    settings = pictures.reasons(record["verdict"])
    depending = [one for one in pictures.verdicts(record["verdict"]) if one.reason]
    assert len(depending) > len(settings) >= 1 and {one.reason for one in depending} == set(settings)
    answers = {one.answer for one in depending}
    assert len(answers) == 1 and answers.isdisjoint(
        one.answer for one in pictures.verdicts(record["verdict"]) if not one.reason
    )
    with_claim = Claim("So.", lambda _: ClaimFinding(Answer.FAILS, "3 times"), "T").answer({})
    assert any("does not hold" in line for line in with_claim["lines"]), "what came out is said, whatever it depends on"


def test_a_figure_without_a_result_says_why_and_how_long(monkeypatch):
    """Hours, or the table that is missing; never an empty picture without a word."""
    assert "1,000 trials" in pictures.wanting_words(dataclasses.replace(figure("C6"), needs=None))
    monkeypatch.setenv("PMT_DATA_DIR", "/nowhere")
    assert "needs the table" in pictures.wanting_words(figure("C6b"))


def test_comparisons_are_paired():
    """What two series share drops out: a ratio of 0.995 is told apart although each scatters by a fifth."""
    common = np.random.default_rng(7).standard_normal((TRIALS, 3))
    lower, upper = (curve(name, y * np.ones(3), spread=0.2, common=common) for name, y in (("a", 0.995), ("b", 1.0)))
    for statistic in ("mean", "median", "sd"):
        assert checks.below("a", "b", statistic)({"a": lower, "b": upper}).answer is Answer.HOLDS
        assert checks.below("b", "a", statistic)({"a": lower, "b": upper}).answer is Answer.FAILS
    alone = curve("b", np.ones(3), spread=0.2, common=np.random.default_rng(8).standard_normal((TRIALS, 3)))
    assert checks.below("a", "b")({"a": lower, "b": alone}).answer is Answer.OPEN


def test_below_at_every_x_needs_no_more_at_many_x():
    """2.5 standard errors below are surely below at one x and at twenty; 1.5 are not; one x of twenty decides."""
    scatter = np.linspace(-1, 1, TRIALS)[:, None] * np.ones((1, 20))
    error = np.std(scatter[:, 0]) / np.sqrt(TRIALS)
    b = Curve("b", np.arange(20.0), np.ones((TRIALS, 20)))

    def answer(errors: np.ndarray, check=None) -> Answer:
        return (check or checks.below("a", "b"))(
            {"a": Curve("a", b.x, 1 - 0.01 * (errors * error + scatter)), "b": b}
        ).answer

    assert answer(np.full(20, 2.5)) is Answer.HOLDS and answer(np.full(20, 1.5)) is Answer.OPEN
    assert answer(np.r_[1.5, np.full(19, 9.0)]) is Answer.OPEN
    assert answer(np.r_[-9.0, np.full(19, 9.0)]) is Answer.FAILS
    # That one of twenty is above is said less easily: each had its chance.
    assert answer(np.r_[-2.5, np.full(19, 9.0)]) is Answer.OPEN
    most, one = (checks.below_somewhere([("a", "b")], mostly=mostly) for mostly in (True, False))
    assert answer(np.full(20, 2.5), most) is Answer.HOLDS, "what holds at every x holds at most"
    assert (
        answer(np.r_[2.5, np.zeros(19)], one) is Answer.OPEN and answer(np.r_[9.0, np.zeros(19)], one) is Answer.HOLDS
    )


def test_places_of_other_panels_count_in_general():
    """'In general' is said of all panels: one above is outvoted by two below, and outvotes none where two are above."""
    under, over = ({"a": curve("a", [level] * 4), "b": curve("b", [1.0] * 4, seed=1)} for level in (0.5, 2.0))
    for here, others, expected in (
        (over, [under, under], Answer.HOLDS),
        (under, [over, over], Answer.FAILS),
        (over, [under], Answer.FAILS),
    ):
        panels = [lambda each=each: each for each in others]
        finding = checks.below_somewhere([("a", "b")], mostly=True, panels=panels)(here)
        assert finding.answer is expected and f"of {4 * (1 + len(others))} values" in finding.figures
    for id in ("D5b", "DS2e", "D6"):
        claim = next(claim for claim in figure(id).claims if "in general" in claim.words)
        assert "at most places of all panels" in claim.readings and set(claim.stated) == {
            "at most of them",
            "at most places",
        }


def test_pure_noise_of_the_other_length_keeps_a_sentence_from_being_refuted():
    """The text samples a length of shape 1, as one panel of S.4 does: a reading of what is said of recycling."""
    for id, pure in (("DS4", True), ("DS4c", True), ("D8", False)):
        gains = [claim for claim in figure(id).claims if "more evident" in claim.words]
        assert gains and all(any("shape 1" in name for name in claim.readings) is pure for claim in gains)


def test_pure_figures_have_a_panel_with_noise_as_the_text_samples_it():
    """Same series and places, another form of the noise; each sentence is read of both, and no all-panels reading."""
    for id, twin in (("DS1", "DS1h"), ("DS2", "DS2g"), ("DS3", "DS3d"), ("DS4", "DS4d"), ("DS4b", "DS4e")):
        one, two = figure(id), figure(twin)
        assert [run.x for run in one.runs] == [run.x for run in two.runs] and one.source == two.source
        (setting,) = (run.setting for run in two.runs)
        forms = [values.get("form") for _, _, values in setting["tried"]] if "tried" in setting else [setting["form"]]
        assert set(forms) - {None} == {"sampled"}
        for claim in two.claims:
            both = ["by the density of equation 4" in name for name in claim.readings]
            assert any(both) and not all(both) and "E8" in claim.unstated
            assert not any("all panels" in name for name in claim.readings)


def test_answers_are_seldom_wrong_by_chance():
    """Of 200 sets of ten equal curves at most 20 are told apart; with one of ten equal at most 16 are called below."""
    rng, told, missed = np.random.default_rng(13), 0, 0
    for _ in range(200):
        shared, one, two = rng.standard_normal((3, 40, 10))
        a, b = (Curve(name, np.arange(10.0), np.exp((shared + own / 2) / 3)) for name, own in (("a", one), ("b", two)))
        told += checks.below("a", "b")({"a": a, "b": b}).answer is not Answer.OPEN
        less = Curve("a", a.x, a.values * np.r_[1.0, np.full(9, 0.5)])
        missed += checks.below("a", "b")({"a": less, "b": b}).answer is Answer.HOLDS
    assert told <= 20 and missed <= 16, (told, missed)


@pytest.mark.parametrize("statistic", ["mean", "median", "sd"])
def test_paired_intervals_cover(statistic):
    """A true difference of nothing is declared in at most 12 % of 300 pairs of 40 trials, at odds of 5 % (1e-6)."""
    rng, told = np.random.default_rng(11), 0
    for _ in range(300):
        shared, one, two = rng.standard_normal((3, 40, 1))
        a, b = (Curve(name, np.ones(1), np.exp((shared + own / 2) / 3)) for name, own in (("a", one), ("b", two)))
        told += checks.below("a", "b", statistic)({"a": a, "b": b}).answer is not Answer.OPEN
    assert told <= 36, told


def test_points_at_a_common_ceiling_do_not_count():
    """Equal at saturation and below elsewhere is below; equal everywhere is not."""
    common = np.random.default_rng(3).standard_normal((TRIALS, 2))
    low, high = (curve(name, y, common=common) for name, y in (("a", [1.0, 5.0]), ("b", [2.0, 5.0])))
    known = {"a": low, "b": high, "same": Curve("same", high.x, high.values)}
    assert checks.below("a", "b")(known).answer is Answer.HOLDS and checks.below("b", "a")(known).answer is Answer.FAILS
    assert checks.below("same", "b")(known).answer is Answer.FAILS


def test_an_open_claim_says_what_would_answer_it():
    """Few trials, more than the paper has, none that would do, no result: a kind each, and about how many it takes."""

    def told(gap: float, trials: int, of: int = 300):
        common = np.random.default_rng(4).standard_normal((trials, 1))
        own = np.random.default_rng(5).standard_normal((trials, 1))
        own -= own.mean()
        curves = [Curve(n, np.ones(1), v) for n, v in (("a", 9 + common + own - gap), ("b", 9 + common))]
        entry = dataclasses.replace(figure("D5"), trials=of, claims=(Claim("It is below.", checks.below("a", "b")),))
        record = {"trials": trials, "seconds_per_trial": 2.0, "series": [each.as_dict() for each in curves]}
        record["verdict"] = entry.verdict({each.name: each for each in curves})
        return list(open_claims(entry, json.loads(json.dumps(record))))

    (few,) = told(0.3, 10)
    assert few.why is OpenReason.FEW_TRIALS and 20 <= few.needed <= 160 and few.seconds == 2 * (few.needed - 10)
    (beyond,) = told(0.3, 10, of=10)
    assert beyond.why is OpenReason.BEYOND and beyond.needed == few.needed
    (border,) = told(0.0, 10)
    assert border.why is OpenReason.BORDER and border.needed is None and border.as_dict()["kind"] == "border"
    assert told(5.0, 10) == []
    (near,) = told(0.1, 300)
    assert near.needed == 400 and near.cheap
    hundred = dataclasses.replace(beyond, needed=110, seconds=600.0)
    assert hundred.cheap and not border.cheap
    assert not dataclasses.replace(hundred, needed=111).cheap and not dataclasses.replace(hundred, seconds=601.0).cheap
    without = list(open_claims(figure("D5"), None))
    assert len(without) == len(figure("D5").claims) and {each.why for each in without} == {OpenReason.NO_RESULT}
    for each in (few, beyond, border, without[0]):
        assert each.claim in each.words and json.dumps(each.as_dict())
    assert f"{few.needed:,}" in few.advice and "within" in few.advice and "beyond" in beyond.advice
    answered = {"claim": few.claim, "answer": Answer.OPEN.value, "lines": ["A figure"], "unstated": "", "ours": False}
    (told_so,) = pictures.verdicts([answered], [few])
    assert told_so.lines == ("A figure.", f"{few.advice}.")


def test_open_claims_are_listed(capsys):
    """``gallery FIGURE --open``: its open claims, and how many of all."""
    assert main(["gallery", "D3,D1", "--open", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["open"]
    wanted = [claim for id in ("D3", "D1") for claim in load_stored(figure(id))["verdict"]]
    assert [each["claim"] for each in listed] == [c["claim"] for c in wanted if c["answer"] == Answer.OPEN.value]


def test_few_trials_say_nothing():
    """Below five trials no spread is known, so nothing is claimed however far curves are apart."""
    a, b = (Curve(name, np.ones(1), np.full((FEWEST_TRIALS - 1, 1), y)) for name, y in (("a", 1.0), ("b", 9.0)))
    assert checks.below("a", "b")({"a": a, "b": b}).answer is Answer.OPEN
    more = {c.name: Curve(c.name, c.x, np.repeat(c.values[:1], FEWEST_TRIALS, axis=0)) for c in (a, b)}
    assert checks.below("a", "b")(more).answer is Answer.HOLDS


def test_a_claim_with_readings_that_disagree_depends():
    """One reading holds and another fails: it depends; all hold: it holds; one is open and one holds: open."""
    yes, no, may = (lambda curves, a=a: ClaimFinding(a, a.name) for a in (Answer.HOLDS, Answer.FAILS, Answer.OPEN))

    def answer(**readings):
        return Claim("It is so.", unstated="which", readings=readings).answer({})["answer"]

    assert answer(a=yes, b=no, c=may) == Answer.UNSTATED.value
    assert answer(a=yes, b=yes) == Answer.HOLDS.value and answer(a=no, b=no) == Answer.FAILS.value
    assert answer(a=yes, b=may) == Answer.OPEN.value and answer(a=no, b=may) == Answer.OPEN.value
    apart = not_drawn("in another panel")
    assert answer(a=no, b=apart) == answer(a=no, b=may, c=apart) == Answer.UNSTATED.value
    assert answer(a=yes, b=apart) == Answer.HOLDS.value and answer(a=may, b=apart) == Answer.OPEN.value
    with pytest.raises(ValueError):
        Claim("Nothing to go by.")


def test_a_reading_that_the_paper_states_is_enough():
    """Where it holds the claim does, whatever others say; where it does not, it refutes no more than another."""
    yes, no, may = (lambda curves, a=a: ClaimFinding(a, a.name) for a in (Answer.HOLDS, Answer.FAILS, Answer.OPEN))

    def answer(*stated, **readings):
        return Claim("It is so.", unstated="which", readings=readings, stated=stated).answer({})["answer"]

    for other in (yes, no, may, not_drawn("elsewhere")):
        assert answer("printed", printed=yes, other=other) == Answer.HOLDS.value
        assert answer("pri", printed_first=no, printed_last=yes, other=other) == Answer.HOLDS.value
    assert answer("printed", printed=no, other=yes) == Answer.UNSTATED.value
    assert answer("printed", printed=may, other=yes) == Answer.OPEN.value
    assert answer("printed", printed=no, other=no) == Answer.FAILS.value
    with pytest.raises(ValueError):
        answer("printed", other=yes)


def test_curves_are_compared_where_both_have_points():
    """A line with fewer x is compared at these: it may not be missed, and no other x decides."""
    many = Curve("many", np.arange(1.0, 6.0), np.tile([1.0, 9.0, 1.0, 9.0, 1.0], (8, 1)))
    few = Curve("few", np.array([1.0, 3.0, 5.0]), np.full((8, 3), 2.0))
    given = {"many": many, "few": few}
    assert checks.below("many", "few")(given).answer is Answer.HOLDS
    assert checks.below("few", "many")(given).answer is Answer.FAILS


def test_a_claim_about_a_series_that_is_not_stored_says_so():
    """A result of an earlier version lacks a series: nobody can tell, and the series is named."""
    result = Claim("It is below.", checks.below("a", "b")).answer({"a": curve("a", [1, 2])})
    assert result["answer"] == Answer.OPEN.value and "b is not in the stored result" in result["figures"]


def test_a_stored_result_of_other_code_is_noticed():
    """The first trial is kept; where it comes out differently, the series is named."""
    record = Computation(figure("B3k"), 2).run().as_dict()
    assert stale(figure("B3k"), json.loads(json.dumps(record))) == ()
    record["first"]["after whitening"] = [2 * record["first"]["after whitening"][0]]
    assert stale(figure("B3k"), record) == ("after whitening",)
    assert set(stale(figure("B3k"), {})) == {"before whitening", "after whitening"}


def power_law(slope: float, spread: float, trials: int, seed: int = 0, name: str = "law") -> Curve:
    """Trials around a power law with this relative spread."""
    x = np.array([1e4, 5e4, 1.1e5, 2.9e5])
    scatter = spread * np.random.default_rng(seed).standard_normal((trials, 4))
    return Curve(name, x, (x / 1e5) ** slope * np.exp(scatter))


def without(made: Curve, place: int, count: int) -> Curve:
    """Return the same with so many trials without an estimate at one place."""
    values = made.values.copy()
    values[:count, place] = np.inf
    return Curve(made.name, made.x, values)


def test_a_slope_is_near_only_if_it_is_known_to_be():
    """-1 with few or noisy trials is not known; -0.7 is not -1 however exact; both used to count as -1."""
    near = checks.slope_near("law", -1.0)
    assert near({"law": power_law(-1.0, 0.3, 100)}).answer is Answer.HOLDS
    assert near({"law": power_law(-0.69, 0.05, 100)}).answer is not Answer.HOLDS
    assert near({"law": power_law(-1.0, 3.0, 6, seed=2)}).answer is not Answer.HOLDS
    assert near({"law": power_law(-1.0, 0.3, FEWEST_TRIALS - 1)}).answer is Answer.OPEN
    broken = without(power_law(-1.0, 0.1, 9), 1, 8)
    assert near({"law": broken}).answer is Answer.FAILS
    few = without(power_law(-1.0, 0.1, 6), 1, 4)
    assert near({"law": few}).answer is Answer.OPEN and "4 of 6 trials" in near({"law": few}).figures


def test_a_slope_is_above_zero_only_if_its_whole_interval_is():
    """Across curves, at their last x: a rising error is told, one that rises or falls is open, a falling one fails."""

    def answer(power: float, spread: float) -> Answer:
        scatter = spread * np.random.default_rng(3).standard_normal((3, 100))
        rising = [level**power * np.exp(each) for level, each in zip((5.0, 10.0, 15.0), scatter, strict=True)]
        curves = {f"p = {k}": Curve(f"p = {k}", np.array([1e5]), each[:, None]) for k, each in enumerate(rising)}
        return checks.slope_across({5.0: "p = 0", 10.0: "p = 1", 15.0: "p = 2"}, None)(curves).answer

    assert answer(1.0, 0.3) is Answer.HOLDS
    assert answer(0.0, 1.0) is Answer.OPEN
    assert answer(-1.0, 0.3) is Answer.FAILS


def test_slope_intervals_cover():
    """95 % intervals hold the true slope in at least 90 % of 300 draws (odds of fewer at 95 %: 1e-4)."""
    slopes = [checks.along(power_law(-1.0, 0.5, 40, seed)) for seed in range(300)]
    assert np.mean([slope.low <= -1.0 <= slope.high for slope in slopes]) >= 0.9


@pytest.mark.parametrize("law", ["normal", "lognormal", "heavy"])
def test_a_median_is_known_as_well_as_it_is_said_to_be(law):
    """Over 400 sets of 100 trials the median scatters as resampling says: from 0.8 to 1.15 times it."""
    rng = np.random.default_rng(5)
    draws = {
        "normal": lambda: 1 + 0.2 * rng.standard_normal((100, 400)),
        "lognormal": lambda: np.exp(1.5 * rng.standard_normal((100, 400))),
        "heavy": lambda: np.abs(rng.standard_t(1.0, (100, 400))),
    }[law]()
    made = Curve("law", np.arange(400.0), draws)
    ratio = np.std(np.log(made.median)) / np.median(spread_of(np.log(made.statistic("median"))))
    assert 0.8 < ratio < 1.15, ratio


@pytest.mark.parametrize("reach", [claims._REACH, 0.0], ids=["near", "far"])
def test_resamples_of_a_median_are_medians_of_resamples(reach, monkeypatch):
    """Counting ranks gives what sorting each resample would: infinite errors, ties, medians far from the middle."""
    monkeypatch.setattr(claims, "_REACH", reach)
    few = np.array([3.0, 1.0, np.inf, 2.0, 2.0, 7.0, np.inf])
    for values in (few, np.random.default_rng(3).standard_t(1.0, 900)):
        made = Curve("one", np.ones(1), values[:, None]).statistic("median")[:, 0]
        for counts, median in zip(claims._resamples(len(values)).astype(int), made, strict=True):
            with np.errstate(invalid="ignore"):
                assert median == np.median(np.repeat(values, counts))


@pytest.mark.parametrize("endless", [0, 20, 150, 200])
def test_the_spread_is_half_the_distance_of_two_quantiles(endless):
    """It is that of numpy's quantiles, on the side that is longer; NaN where one is not finite."""
    draws = np.random.default_rng(4).lognormal(size=(201, 3))
    draws[1 : 1 + endless, 1] = np.inf
    draws[7, 2] = np.nan
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(draws[1:], claims._ONE_SD, axis=0)
        expected = np.maximum(np.abs(low - draws[0]), np.abs(high - draws[0]))
    np.testing.assert_allclose(spread_of(draws), expected, rtol=1e-12)


def test_a_slope_across_curves_is_that_of_their_last_points():
    """Errors proportional to 1/epsilon^2 at the largest n."""
    base = power_law(-1.0, 0.1, 400)
    curves = {f"e{e}": Curve(f"e{e}", base.x, base.values / e**2) for e in (2, 3, 5, 10)}
    named = {float(e): f"e{e}" for e in (2, 3, 5, 10)}
    assert checks.slope_across(named, -2.0)(curves).answer is Answer.HOLDS
    assert checks.slope_across(named, -1.0)(curves).answer is Answer.FAILS


def test_a_curve_survives_storage():
    """A trial without an estimate has none again, and counts as above every other; five digits stay."""
    made = Curve("a", np.arange(3.0), np.array([[1.2345678, np.inf, 3.0], [2.0, 4.0, 5.0]]))
    fields = made.as_dict()
    fields["values"] = [[None if np.isinf(v) else v for v in row] for row in fields["values"]]
    back = Curve.from_dict(json.loads(json.dumps(fields["values"]) and json.dumps({**fields, "median": None})))
    assert np.allclose(back.values, made.values, rtol=1e-4) and back.omitted.tolist() == [0, 1, 0]


@pytest.mark.slow
def test_a_computation_goes_on_where_it_was_stopped(tmp_path):
    """Trials of a stored result are taken over, to five digits; the file says settings and code; then it is done."""
    complete = Computation(figure("B3k"), 45).run().curves()
    steps = list(compute_all([figure("B3k")], (0.1,), 0, tmp_path))
    assert [trials for _, trials, _ in steps] == [20, 30]
    record = json.loads((tmp_path / "B3k.json").read_text())
    assert record["settings"] and {"pmtcore", "source", "numpy"} <= set(record["made_by"])
    made = Computation(figure("B3k"), 45, since=record)
    assert made.share == pytest.approx(30 / 45)
    for name, longer in made.run().curves().items():
        assert np.allclose(longer.values, complete[name].values, rtol=1e-4)
    assert list(compute_all([figure("B3k")], (0.1,), 0, tmp_path)) == []
    assert record["first"] == probe(figure("B3k")), "what a longer run goes on from is checked by the same trial"
    order = [entry.id for entry, _, _ in compute_all([figure("B3k"), figure("D1")], (0.4,), 0, tmp_path)]
    assert order[0] == "D1" and set(order[1:]) == {"B3k"}, "a figure without a result comes first"
    store(Computation(figure("B3e"), 5).run().as_dict(), tmp_path)
    order = [entry.id for entry, _, _ in compute_all([figure("B3k"), figure("B3e")], (0.5,), 0, tmp_path)]
    assert order[0] == "B3e" and order[-1] == "B3k", "then the one with the smallest share of its trials"
    with pytest.raises(ValueError):
        Computation(figure("B3e"), 45, since=record)


@pytest.mark.parametrize("id", ["B3", "D1", "D7c"])
def test_each_run_goes_on_from_its_own_series(id):
    """Also where several runs have one position, each of a series of its own, which used to end in an error."""
    entry = figure(id)
    first = {run.x for run in entry.runs[:1]}
    made = dataclasses.replace(entry, runs=tuple(run for run in entry.runs if run.x in first), claims=())
    goes_on_as_the_whole(made)


def goes_on_as_the_whole(made: Figure) -> None:
    """Assert that two trials made one after the other are two made at once."""
    record = json.loads(json.dumps(Computation(made, 1).run().as_dict()))
    on, complete = Computation(made, 2, since=record).run().curves(), Computation(made, 2).run().curves()
    assert set(on) == set(complete)
    for name, curve in complete.items():
        assert on[name].x.tolist() == curve.x.tolist(), name
        assert np.allclose(on[name].values, curve.values, rtol=1e-4), name


def test_runs_that_share_some_positions_go_on_from_their_own_series():
    """Paper C's run at all n, and this project's at some of them."""
    sizes = ((600, 800, 1000), (600, 1000))
    runs = tuple(
        dataclasses.replace(run, x=n, setting={**run.setting, "sizes": [(k, k) for k in n]})
        for run, n in zip(figure("C3").runs, sizes, strict=True)
    )
    goes_on_as_the_whole(dataclasses.replace(figure("C3"), runs=runs, claims=()))


@pytest.mark.slow
def test_the_whole_gallery_goes_into_a_folder(tmp_path, capsys):
    """``--out`` names a folder for ``--all``, and for one figure the file of its result."""
    assert main(["gallery", "B3k", "--all", "--out", str(tmp_path), "--workers", "0"]) == 0
    assert json.loads((tmp_path / "B3k.json").read_text())["trials"] == figure("B3k").trials
    file = tmp_path / "one.json"
    assert main(["gallery", "B3k", "--trials", "1", "--workers", "0", "--json", "--out", str(file)]) == 0
    assert json.loads(file.read_text())["trials"] == 1
    assert main(["gallery", "B3k", "--trials", "1", "--out", str(tmp_path)]) == 2
    assert "regular file" in capsys.readouterr().err


@pytest.mark.slow
def test_no_figure_computes_without_the_registry(monkeypatch):
    """Every trial plans a registered method: with every plan made to raise, no figure gives a number."""

    class Planned(Exception):
        """Raised in place of every plan."""

    def refuse(*_):
        raise Planned

    for entry in methods():
        assert entry.parameters, "read from the planner before it is replaced"
        monkeypatch.setitem(vars(entry), "plan", refuse)
    for entry in figures():
        try:
            needed(entry)
        except InputError:
            continue
        with pytest.raises(Planned):
            Computation(entry, 1).run()


def test_a_stored_verdict_is_that_of_the_checks_of_today(tmp_path, monkeypatch):
    """A verdict in the file is not believed: it is made again from the series."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    record = Computation(figure("B2"), 1).run().as_dict()
    store({**record, "trials": 10_000, "verdict": [{"claim": "all is well", "holds": True, "figures": ""}]})
    loaded = load_stored(figure("B2"))
    assert loaded["trials"] == 10_000 and len(loaded["verdict"]) == len(figure("B2").claims)
    assert "all is well" not in str(loaded["verdict"])


@pytest.mark.parametrize("id", ["A1", "C6", "D5"])
def test_a_result_without_values_is_the_same_but_for_them(id):
    """The overview draws from summaries and has the verdict of the values."""
    record, summary = load_stored(figure(id)), load_stored(figure(id), values=False)
    for fields in record["series"]:
        fields["values"] = []
    assert summary == record and summary["verdict"]


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


@pytest.mark.slow
def test_every_shipped_result_belongs_to_its_figure(tmp_path, monkeypatch):
    """What ships was computed from the description that ships, and draws."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    for entry in figures():
        if entry.needs in NOT_AT_HAND:
            continue
        record = load_stored(entry)
        if entry.id in LONG and record is None:
            continue
        assert record is not None, f"{entry.id} has no stored result of its description"
        assert record["trials"] >= min(FEWEST_TRIALS, entry.trials), entry.id
        assert len(pictures.picture(entry, record).data) == 3 * len(record["series"])
        claims = [one for ours in (False, True) for one in pictures.verdicts(record["verdict"], ours=ours)]
        assert len(pictures.table(record)) and len(claims) == len(entry.claims)


@pytest.mark.slow
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
    assert pictures.errata_of(figure("D8"))[0] == "E8" and set(figure("C5").methods) == {"ldp-nlr", "ldp-nlr-printed"}
    record = {"trials": 10, "computed": "today", "seconds_per_trial": 30.0, "first": {"a": [1.0]}}
    assert "by an earlier version of the code" in pictures.trials_words(figure("A1"), {**record, "first": {}})
    assert "take about 2.5 hours on one core" in pictures.trials_words(figure("A1"), record)
    assert pictures.wait_words(record, 4) == "2 minutes" and pictures.wait_words(None, 4) == ""
    assert "as many as the paper has" in pictures.trials_words(figure("A1"), {**record, "trials": 300})
    assert "more than the paper has" in pictures.trials_words(figure("A1"), {**record, "trials": 301})


def test_lines_that_are_no_estimate_are_counted():
    """A relative error above 1 at every x is worse than an estimate of zero; other errors are not counted."""
    lines = {"series": [{"mean": [9.0, 2.0]}, {"mean": [9.0, 0.5]}]}
    assert "of 1 of 2 lines is larger" in pictures.useless_words(figure("C5"), lines)
    assert not pictures.useless_words(figure("C5"), {"series": lines["series"][1:]})
    assert not pictures.useless_words(figure("A1"), lines)


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


def test_a_missing_table_is_a_sentence(tmp_path, monkeypatch):
    """A figure on a real table says which one is missing."""
    monkeypatch.setenv("PMT_DATA_DIR", str(tmp_path))
    with refused(MethodMessage.TABLE_NOT_HERE, id="A4"):
        Computation(figure("A4"), 1)


def test_spectra_are_those_of_the_rows():
    """As they are without any truncation, and truncated, which pulls in the far rows of white wine alone."""
    problem = {"table": "synthetic", "d": 10, "m": 40, "n": 2000}
    public, rows, _ = central.sides(3, **problem)
    x = rows.concatenate(lambda features, _: features, 10).reveal(TEST)
    values = np.linalg.eigvalsh(x.T @ x / len(x))
    z = np.linalg.solve(public.feature_root, x.T)
    whitened = np.linalg.eigvalsh(z @ z.T / len(x))
    told = central.conditioning_trial(3, problem=problem, truncated=True)
    assert told["after whitening"][0] == pytest.approx(whitened.mean() / whitened[0], rel=1e-9)
    assert told["before whitening"][0] == pytest.approx(values.mean() / values[0], rel=1e-9)
    assert told["before whitening, rows truncated"][0] == pytest.approx(told["before whitening"][0], rel=0.02)
    assert central.eigenvalue_trial(3, problem=problem)["before whitening"][0] == pytest.approx(values[0], rel=1e-9)
    if not named.entry("white-wine").available:
        pytest.skip("the table is not here")
    wine = {"table": "white-wine", "scale": "z", "m": 249, "n": 4649}
    of_wine = [central.conditioning_trial(seed, problem=wine, truncated=True) for seed in range(3)]
    assert all(each["before whitening"][0] < 50 < 66 < each["before whitening, rows truncated"][0] for each in of_wine)


def test_a_verdict_is_computed_once_for_a_result_and_a_code(tmp_path, monkeypatch):
    """A second visit takes it from the cache; another text of the result, or another code, is judged anew."""
    monkeypatch.setenv("PMT_GALLERY_DIR", str(tmp_path))
    entry = figure("B3k")
    first = load_stored(entry)["verdict"]
    monkeypatch.setattr(Figure, "verdict", lambda *_: [])
    assert load_stored(entry)["verdict"] == first and first
    stored = (engine.SHIPPED / f"{entry.id}.json").read_text(encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / f"{entry.id}.json").write_text(stored + " ", encoding="utf-8")
    assert load_stored(entry, other)["verdict"] == []
    monkeypatch.setattr("pmtcore.base.cached_by_code._code_digest", lambda: "another")
    assert load_stored(entry)["verdict"] == []
