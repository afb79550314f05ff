"""The lessons are true: whitening rounds, inverses amplify, radii have an optimum, squares add."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.auditing.faults import FAULTS
from pmtcore.papers import lessons
from pmtcore.papers import lessons_methods as more
from pmtcore.papers import lessons_papers as papers
from pmtcore.papers.figures import learn
from pmtcore.papers.lesson_texts import LESSONS


def test_whitening_rounds_a_needle():
    """The condition number falls by far, and further with more public rows."""
    few, many = lessons.whitening(30.0, 10), lessons.whitening(30.0, 1000)
    assert few.kappa_before > 300 and many.kappa_after < few.kappa_after < few.kappa_before / 10


@pytest.mark.parametrize("ratio", [2.0, 30.0, 100.0])
def test_more_public_rows_never_whiten_worse(ratio):
    """Along the knob the cloud gets rounder, however long the needle: no one lucky sample is drawn."""
    left = [lessons.whitening(ratio, rows).kappa_after for rows in (4, 10, 30, 100, 1000)]
    assert np.all(np.diff(left) < 0) and left[-1] == pytest.approx(lessons.whitening(5.0, 1000).kappa_after)


@pytest.mark.parametrize("kappa", [1.1, 2.1, 3.0, 8.9, 9.1, 400.0])
def test_two_lessons_call_one_condition_number_alike(kappa):
    """What a condition number is called depends on it alone: both lessons use the same words."""
    cloud = lessons.Cloud(np.zeros((1, 2)), np.zeros((1, 2)), 900.0, kappa)
    assert lessons.roundness(kappa) in cloud.sentence
    assert lessons.roundness(more.expected_after(10, 50).kappa) in more.public_rows(10, 50).sentence


def test_the_inverse_amplifies_noise():
    """Ill-conditioned rows: whitened slopes are far closer to the truth at the same budget; round rows: equal."""
    bad, good = lessons.inverse(10.0, 1.0), lessons.inverse(1.0, 1.0)

    def off(x, true):
        return np.median(np.linalg.norm(x - true, axis=1))

    assert off(bad.plain, bad.true) > 3 * off(bad.whitened, bad.true)
    assert off(good.plain, good.true) == pytest.approx(off(good.whitened, good.true), rel=0.3)


def test_the_radius_has_an_optimum_inside():
    """Neither end is best, and the words know the side."""
    result = lessons.radius(6.0, 0.3)
    assert 0 < np.argmin(result.total) < len(result.radius) - 1
    assert "too small" in lessons.radius(0.6, 0.3).sentence and "too large" in lessons.radius(11.0, 0.3).sentence


def test_composition_and_trust():
    """Squares add; the local price is the root of n."""
    total, added, _ = lessons.composition(0.5, 16)
    assert total[-1] == pytest.approx(2.0) and added[-1] == pytest.approx(8.0)
    result = more.trust(10_000)
    assert "100 times as much" in result.sentence
    central, local = result.curves.values()
    np.testing.assert_allclose(local / central, np.sqrt(result.x))


@pytest.mark.slow
def test_public_rows_have_a_threshold():
    """More rows, rounder; as many as columns are not enough; every sentence fits its figure."""
    (left,) = more.public_rows(10, 100).curves.values()
    assert np.all(np.diff(left[1:]) < 0) and left[-1] < 2
    assert "cannot tell" in more.public_rows(10, 10).sentence
    assert "still long" in more.public_rows(10, 15).sentence
    assert "not yet a ball" in more.public_rows(10, 100).sentence
    assert "nearly a ball" in more.public_rows(10, 5000).sentence


def test_one_moment_is_worth_many_questions():
    """Releases of their own get worse with every question; the moment does not."""
    result = more.questions(1.0, 100)
    apart, moment = result.curves.values()
    assert np.all(np.diff(apart) > 0) and np.ptp(moment) == 0 and apart[-1] > 3 * moment[0]
    assert "next question is free" in result.sentence
    assert ("each is better" in more.questions(1.0, 1).sentence) == (apart[0] <= moment[0])


@pytest.mark.parametrize("mu", [0.05, 0.3, 3.0])
def test_bands_hold_with_the_noise_in_them(mu):
    """95 % with both parts, at every budget; without the noise only where the noise is small."""
    assert more.bands(mu, True).coverage == pytest.approx(0.95, abs=0.01)
    result = more.bands(mu, False)
    assert (result.coverage > 0.93) == (mu > 1) == ("too small to matter" in result.sentence)


def test_pairs_and_several_rows():
    """Epsilon falls with delta; k rows are k times the mu."""
    result = more.pairs(1.0, -5)
    assert np.all(np.diff(result.curves["epsilon"]) < 0) and "4.38" in result.sentence
    one, many = more.several_rows(0.5, 4).curves.values()
    np.testing.assert_allclose(many, more.several_rows(2.0, 1).curves["one row"])
    assert np.all(many >= one) and "One row" in more.several_rows(0.5, 1).sentence


def test_sentences_turn_with_the_figures():
    """A needle that stays one, and rows that are round already, are said to be so."""
    assert "Too few public rows" in lessons.Cloud(np.zeros((1, 2)), np.zeros((1, 2)), 4.0, 9.0).sentence
    assert "still long" in lessons.Cloud(np.zeros((1, 2)), np.zeros((1, 2)), 900.0, 16.0).sentence
    assert "round already" in lessons.inverse(1.0, 1.0).sentence
    assert "noise swamps both" in lessons.inverse(30.0, 0.1).sentence, "long rows are not called round"


def test_every_lesson_asks_and_answers():
    """At least ten, each with a thing to try, a question, an answer."""
    assert len(LESSONS) >= 10
    for lesson in LESSONS.values():
        assert lesson.question.endswith("?") and lesson.answer.endswith(".") and lesson.task.endswith(".")


@pytest.mark.parametrize("id", ["own-radius", "bottom-symbol", "own-weights", "truncated-noise"])
def test_the_leaks_leak(id):
    """The lesson on leaks shows an attacker who wins."""
    assert FAULTS[id].run(1.0, 10_000).violated


def test_noisy_newton_has_a_best_number_of_steps():
    """Neither one step nor twelve; whitening helps; a larger budget is better."""
    result = papers.newton(3.0, 12)
    whitened, plain = result.curves.values()
    assert 0 < np.argmin(whitened) < len(whitened) - 1 and "Every step is paid for" in result.sentence
    assert whitened.min() < plain.min() and papers.newton(10.0, 6).curves["whitened"].min() < whitened.min()
    assert "on its way" in papers.newton(10.0, 1).sentence


def test_a_perturbed_objective_trades_noise_for_pull():
    """Noise falls and the pull grows with the ridge; the least ridge is 8 R^2/mu^2."""
    result = papers.objective(0.3, 1.0)
    moved, pulled, both = result.curves.values()
    assert np.all(np.diff(moved) < 0) and np.all(np.diff(pulled) > 0) and np.all(both >= np.maximum(moved, pulled))
    assert f"ridge of {8 * 9 / 0.09:.3g}" in result.sentence


def test_moor_adds_less():
    """Between the wanted penalty and the sum everywhere; nothing where the lasso is curved enough."""
    result = papers.moor(1.0, 1.0)
    wanted, larger, both = result.curves.values()
    assert np.all(wanted <= larger + 1e-12) and np.all(larger <= both) and result.chosen == 1.0
    np.testing.assert_allclose(larger[result.x < 1], wanted[result.x < 1])
    assert "nothing is added" in papers.moor(2.0, 0.25).sentence


def test_the_response_scale_is_best_where_both_are_equally_long():
    """The noise on the cross moment is least at c = Rx/Rr, where it is that of releasing it alone.

    Proof: proofs/radius.md, 5.
    """
    result = papers.response_scale(3.0, 3.0)
    cross = result.curves["noise on the cross moment"]
    assert abs(result.x[np.argmin(cross)] - 3.0) < 0.3 and cross.min() >= 1 and "rides free" in result.sentence
    assert "times what it could be" in papers.response_scale(0.3, 3.0).sentence


def test_the_bounds_lesson_tells_silence_from_holding():
    """Many rows: it holds, and is so many times away; few: it says nothing."""
    assert "holds, and is" in papers.looseness(10, 100_000).sentence
    assert "says nothing here" in papers.looseness(20, 3000).sentence


def test_sites_have_the_noise_of_those_they_count_on():
    """Nobody colluding: a curator's noise; all but one: each site's share alone keeps the budget."""
    result = more.sites(5, 0)
    assert np.array_equal(result.curves["a study of sites"], result.curves["one curator of all"])
    doubtful = more.sites(5, 4)
    at = list(doubtful.x).index(5)
    assert doubtful.curves["a study of sites"][at] == pytest.approx(np.sqrt(5) / 5000)
    assert "4 colluding sites" in doubtful.sentence
    assert more.sites(2, 9).curves["a study of sites"][0] == pytest.approx(np.sqrt(2) / 2000)


def test_the_true_slopes_are_seen_among_both_clouds():
    """The mark of the truth has another colour than either cloud; a much finer scale is said beside its axis."""
    drawn = learn.solutions(lessons.inverse(10.0, 1.0, trials=40))
    plain, whitened, truth = drawn.data
    assert len({trace.marker.color for trace in (plain, whitened, truth)}) == 3 and truth.marker.line.width > 0
    assert "times as fine" in drawn.layout.xaxis.title.text
    assert "times as fine" not in learn.solutions(lessons.inverse(1.0, 1.0, trials=40)).layout.xaxis.title.text


def test_both_clouds_of_whitening_have_one_scale_and_colour():
    """It stays while knobs move, but where too few public rows leave a cloud that is longer than its axes."""
    ends = {}
    for ratio, rows in ((2, 4), (30, 4), (2, 30), (100, 30), (100, 1000)):
        drawn = learn.clouds(lessons.whitening(ratio, rows))
        sides = [drawn.layout.xaxis.range[1], drawn.layout.xaxis2.range[1]]
        assert sides[0] == sides[1]
        ends.setdefault(rows, set()).add(sides[0])
        assert len({trace.marker.color for trace in drawn.data if trace.name == "private rows"}) == 1
        for trace in drawn.data:
            assert np.abs([*trace.x, *trace.y]).max() <= sides[trace.xaxis == "x2"]
    assert ends[30] == ends[1000] and all(len(each) == 1 for each in ends.values())


def test_noise_of_one_size_is_wider_than_a_needle_and_not_than_a_ball():
    """One circle is around the middle of both clouds: across the needle it reaches further than all rows."""
    cloud = lessons.whitening(30.0, 30)
    first, second = [trace for trace in learn.clouds(cloud).data if trace.name.startswith("noise")]
    assert np.array_equal(first.x, second.x) and np.array_equal(first.y, second.y)
    radius = float(np.hypot(first.x, first.y).max())
    across = [np.linalg.svd(points, full_matrices=False)[2][1] for points in (cloud.before, cloud.after)]
    assert np.abs(cloud.before @ across[0]).max() < radius < np.std(cloud.after @ across[1])
    assert "(" not in cloud.sentence and "900 before" in cloud.note
