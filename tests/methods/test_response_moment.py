"""Responses alone private: what a response can move, what it cannot, and what the record says of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pmtcore as pc
from pmtcore.accounting.budgets import ONLY_RESPONSES, Budget, Guarantee, Neighbours, Unit
from pmtcore.auditing.lower_bound import audit
from pmtcore.base.messages import Note, ReleaseMessage, ReleaseNote, TableMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.grid import join_words
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.mechanisms.passes import GRADIENT, GRADIENT_SENSITIVITY
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import method, methods, methods_for, recommended_method
from pmtcore.methods.response_moment import PublicCoordinates
from pmtcore.releases import planning
from pmtcore.releases.release import Request, recorded_release, release
from pmtcore.report.checklist import checklist
from pmtcore.report.deployment import entry as deployment_entry
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem, prepare
from pmtcore.tables.table import read_table, table_from
from tests.helpers import TEST, make, plan, refused

ID = "response-moment"
DECLARED = Choices(target="y", covariates="public")


def frame(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    data_frame = pd.DataFrame(
        {"a": rng.normal(size=rows), "b": np.exp(rng.normal(size=rows)), "w": rng.random(rows) + 0.5}
    )
    return data_frame.assign(y=1 + 2 * data_frame["a"] - data_frame["b"] + rng.normal(size=rows))


def problem(private: pd.DataFrame, choices: Choices = DECLARED) -> Problem:
    return prepare(table_from(private, "p", "private"), table_from(frame(80, 1), "b", "public"), choices)


def statistics(result: Problem, mu: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H (d, d); the first pass's integer sums (d,) in units of R/2^36, and its histogram (K,) in rows."""
    made = method(ID).plan(result.public, result.private.n, Budget(mu), method(ID).parameters())
    measured, first = made.measure(result.private).reveal(TEST), made.passes[0]
    point = np.zeros((1, result.public.d))
    bound = np.array([first.expected_bound])
    cross = measured.rows.sum(first.gradients(point, bound)).map(join_words).reveal(TEST)[0]
    return measured.moment, cross, first.counts(measured.rows, point).reveal(TEST)[0] / 2.0**30


CELLS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 1e-320, 1e154, float("nan"), None]),
)


@pytest.mark.slow
@given(CELLS, CELLS, st.integers(0, 59))
@settings(max_examples=30, deadline=None)
def test_a_response_moves_its_own_summand_and_nothing_else(one, two, at):
    """H has the same bits, the sum moves by at most 2R and the histogram by sqrt(2), whatever the two cells hold."""
    tables = [frame(60, 2).astype({"y": object}) for _ in range(2)]
    for table, cell in zip(tables, (one, two), strict=True):
        table.loc[at, "y"] = cell
    (h1, q1, c1), (h2, q2, c2) = (statistics(problem(table.astype({"y": float}))) for table in tables)
    assert np.array_equal(h1, h2)
    moved = [int(u) - int(v) for u, v in zip(q1, q2, strict=True)]
    assert sum(m * m for m in moved) <= (GRADIENT_SENSITIVITY * GRADIENT) ** 2
    assert np.sum((c1 - c2) ** 2) <= 2


def test_the_bound_on_a_response_is_reached():
    """Residuals far out on both sides: the sum moves by 2R within a ten-thousandth."""
    tables = [frame(60, 2) for _ in range(2)]
    for table, cell in zip(tables, (-1e6, 1e6), strict=True):
        table.loc[7, "y"] = cell
    (_, q1, _), (_, q2, _) = (statistics(problem(table)) for table in tables)
    assert np.linalg.norm((q1 - q2).astype(float)) == pytest.approx(GRADIENT_SENSITIVITY * GRADIENT, rel=1e-4)


CHOSEN = [{}, {"weights": "w"}, {"missing": "public-median"}, {"person": "who"}, {"formula": "y ~ a + log(b)"}]


@pytest.mark.parametrize("cell", ["", "NA", "word", "1e999", "-3", "0" * 400 + "1", '"1,5"'])
@pytest.mark.parametrize("more", CHOSEN)
def test_no_cell_of_the_target_moves_a_bit_of_the_covariates(cell, more):
    """In a file too, whatever else is chosen: unreadable cells, long ones that move where blocks are cut, weights."""
    collected = []
    for written in ("2.5", cell):
        lines = ["a,b,w,who,y"]
        for j, row in enumerate(frame(300, 3).itertuples(index=False)):
            text = written if j == 11 else f"{row.y!r}"
            lines.append(f"{row.a!r},{row.b!r},{row.w!r},p{j % 200},{text}")
        table = read_table("\n".join(lines).encode(), "p", "private")
        choices = replace(DECLARED, **more, person_rows=2 if "person" in more else 1)
        public = frame(80, 1).assign(who="q")
        made = prepare(table, table_from(public, "b", "public"), choices)
        collected.append(statistics(made)[0])
    assert np.array_equal(*collected)


def test_the_gram_matrix_does_not_depend_on_blocks():
    """Bit for bit the same wherever the rows are cut."""
    draw, public, _ = make(500, 80, 1)
    names = public.names
    collected = [
        plan(ID, public, 500, 1.0)
        .measure(PrivateRows.from_arrays(draw.private_x, draw.private_y, names, block_rows=size))
        .reveal(TEST)
        .moment
        for size in (500, 333, 64, 7)
    ]
    assert all(np.array_equal(collected[0], other) for other in collected[1:])


def test_the_gram_matrix_is_that_of_the_rows():
    """Within a millionth, in the coordinates that public rows whiten; those it whitens itself have the identity."""
    draw, public, rows = make(2000, 80, 2)
    made = plan(ID, public, 2000, 1.0)
    moment = made.measure(rows).reveal(TEST).moment
    x = np.linalg.solve(made.public.feature_root, draw.private_x.T)
    assert np.allclose(moment, x @ x.T / 2000, atol=1e-6 * np.trace(moment))
    assert np.allclose(PublicCoordinates(made.public, moment).design, np.eye(public.d), atol=1e-5)


def test_without_noise_it_is_least_squares():
    """At a very large budget the fit to the private rows, to a hundredth of a standard error."""
    _, public, rows = make(4000, 200, 3)
    made = plan(ID, public, 4000, 900.0)
    exact = exact_fit(public, rows).reveal(TEST)
    away = made.run(rows, SeededNoise(1), 20).coefficients - exact
    assert np.max(np.abs(away) / made.predicted().sampling) < 0.05


@pytest.mark.slow
def test_its_limits_held_the_fit_of_the_population():
    """In 60 draws nine in ten limits hold at least, and they are no wider than they have to be."""
    inside, widths = [], []
    for seed in range(60):
        draw, public, rows = make(1000, 100, 100 + seed)
        outcome = plan(ID, public, 1000, 0.5).run(rows, SeededNoise(seed), 1)
        bands = outcome.bands()
        inside.append((bands.low <= draw.beta) & (draw.beta <= bands.high))
        widths.append((bands.high - bands.low) / np.abs(outcome.coefficients[0] - draw.beta))
    assert 0.9 <= np.mean(inside) <= 0.995
    assert np.median(widths) < 12


@pytest.mark.parametrize("moved", ["one response in twenty", "the slope"])
def test_its_limits_allow_for_rows_beyond_every_bound(moved):
    """Thirty residuals away: the fit is inside, and the truncation part has an upper bound and the last step."""
    draw, public, near = make(4000, 100, 5)
    few = np.where(np.arange(4000) < 200, 30.0, 0.0)
    shift = public.residual_scale * (few if moved == "one response in twenty" else 30.0 * draw.private_x[:, 1])
    far = PrivateRows.from_arrays(draw.private_x, draw.private_y + shift, public.names)
    outcome = plan(ID, public, 4000, 1.0).run(far, SeededNoise(1), 1)
    bands, exact, estimate = outcome.bands(), exact_fit(public, far).reveal(TEST), outcome.estimate
    assert np.all((bands.low <= exact) & (exact <= bands.high))
    assert not plan(ID, public, 4000, 1.0).run(near, SeededNoise(1), 1).notes()
    largest = outcome.plan.errors(outcome.where, estimate, estimate.largest_clipping[0])[2]
    step = outcome.where.to_table(estimate.long_step)[0]
    assert bands.truncation**2 == pytest.approx(largest.variance + step**2)
    if moved == "the slope":
        assert np.any(step != 0)
    else:
        assert np.trace(estimate.largest_clipping[0]) > 2 * np.trace(estimate.clipping[0])
        assert outcome.notes() == (Note(ReleaseNote.HEAVY_TRUNCATION),)


def test_no_sampling_error_is_below_that_of_equal_variances():
    """Of few public rows one decides a direction, and its residual says nothing: H, of all covariates, does."""
    for seed in range(5):
        draw, public, rows = make(1000, 12, seed)
        made = plan(ID, public, 1000, 1.0)
        residual = made.public.residual_scale * made.public.left_out_residual
        inverse = np.linalg.inv(draw.private_x.T @ draw.private_x)
        equal = np.sqrt(np.mean(residual**2) * np.diag(inverse))
        assert np.all(made.run(rows, SeededNoise(seed), 1).bands().sampling >= 0.999 * equal)


def test_a_column_that_is_constant_in_private_rows_does_no_harm():
    """It stays at the public fit, and the bands say that nothing is known of it."""
    private = frame(400, 4).assign(a=0.0)
    released = release(problem(private), Request(ID, Budget(2.0)), SeededNoise(1))
    at = released.names.index("a")
    assert np.all(np.isfinite(released.coefficients))
    assert released.coefficients[at] == pytest.approx(released.public.public_fit[at], abs=0.2)
    assert released.bands.high[at] - released.bands.low[at] > 3 * (released.bands.high - released.bands.low)[0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "rows",
    [
        frame(50, 2).assign(a=np.nan),
        frame(50, 2).assign(a=1e300),
        frame(50, 2).assign(b=lambda f: 1e6 * f["b"]),
        frame(50, 2).assign(b=lambda f: f["a"]),
        frame(1, 2),
        frame(50, 2).assign(y=np.nan),
        frame(50, 2).assign(y=1e300),
    ],
    ids=["empty", "huge", "far", "collinear", "one row", "no response", "huge responses"],
)
def test_odd_covariates_and_responses_give_finite_figures(rows):
    """A release never fails, and its limits are finite: after the spend it would be too late."""
    released = release(problem(rows), Request(ID, Budget(1.0)), SeededNoise(1))
    assert np.all(np.isfinite([released.coefficients, released.bands.low, released.bands.high]))


def test_rows_without_a_response_count_as_the_public_fit_predicts():
    """With half of them missing the fit lies half way between the public fit and that of the rows there are."""
    rows = frame(4000, 5)
    rows.loc[:1999, "y"] = np.nan
    prepared = problem(rows)
    made = release(prepared, Request(ID, Budget(300.0)), SeededNoise(1))
    own = exact_fit(problem(frame(4000, 5)).public, problem(frame(4000, 5)[2000:]).private).reveal(TEST)
    half = (own + prepared.public.coefficients) / 2
    assert np.allclose(made.coefficients, half, atol=0.05)


@pytest.mark.slow
def test_its_noise_is_no_smaller_than_its_claim():
    """An attack on the worst pair of responses stays below the claim, and finds noise that is a fifth too small."""
    from pmtcore.auditing.faults import UnderscaledNoise

    honest = audit(ID, 1.0, 20_000)
    assert not honest.violated and honest.lower_bound > 0.75, honest
    assert audit(ID, 1.0, 40_000, noise=lambda source: UnderscaledNoise(source, 0.7)).violated


def test_an_audit_of_rows_would_find_what_it_does_not_promise():
    """Covariates are not protected, and an attack on rows shows it: the claim is one about responses alone."""
    from pmtcore.auditing import lower_bound

    entry = method(ID)
    public = lower_bound._public(entry)
    made = entry.plan(public, 8, Budget(1.0), entry.parameters())
    for words, tables in lower_bound._pairs(public, 8):
        if words.startswith("rows at right angles"):
            first, second = (made.measure(rows).reveal(TEST).moment for rows in tables)
            assert not np.array_equal(first, second)
            return
    raise AssertionError("no such pair")


def test_it_is_refused_where_covariates_are_private():
    """By kind, before anything is spent, on plan and release alike; and never recommended."""
    private = problem(frame(300, 6), Choices(target="y"))
    for ask in (
        lambda: release(private, Request(ID, Budget(1.0)), SeededNoise(1)),
        lambda: planning.plan(private.public, 300, [1.0], [ID]),
    ):
        with refused(ReleaseMessage.COVARIATES_NOT_DECLARED):
            ask()
    declared = problem(frame(300, 6))
    assert method(ID) in methods_for(declared.public) and method(ID) not in methods_for(private.public)
    assert not any(entry.recommended for entry in methods() if entry.protects_responses_only)
    assert not recommended_method(declared.public).protects_responses_only


def test_plans_do_not_set_it_against_methods_that_protect_rows():
    """It is last in a plan's order, and no better choice for somebody who protects rows."""
    public = problem(frame(300, 6)).public
    planned = planning.plan(public, 3000, [1.0])
    assert planning.ranked_methods(planned, "joint-pmt")[-1] == ID
    mine = next(one for one in planned if one.method == "public-only")
    better = planning.narrowest_plan([one for one in planned if one.method in (ID, "public-only")], mine)
    assert better is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"family": "logistic"}, TableMessage.COVARIATES_NEED_LINEAR),
        ({"person": "id", "person_rule": "mean"}, TableMessage.COVARIATES_OF_MEANS),
        ({"formula": "y ~ a + log(y)"}, TableMessage.TARGET_AMONG_FEATURES),
        ({"formula": "y ~ a:y"}, TableMessage.TARGET_AMONG_FEATURES),
    ],
)
def test_what_does_not_go_with_public_covariates(values, message):
    """Refused by kind."""
    with refused(message):
        problem(frame(100, 2), Choices(target="y", covariates="public", **values))


def test_the_record_never_presents_it_as_protecting_rows(tmp_path):
    """Record, words, checklist, deployment entry, printed results and the ledger's total name responses alone."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 3.0)
    made = recorded_release(
        problem(frame(300, 7)), Request(ID, Budget(1.0)), SecureNoise(), ledger, dataset="survey", key="k"
    )
    record = json.loads(json.dumps(made.as_dict()))
    assert record["standing"] == "sound" and record["guarantee"]["neighbours"] == "replace-one-response"
    assert record["public"]["choices"]["covariates"] == "public"
    assert record["guarantee_in_words"].endswith(ONLY_RESPONSES)
    answers = dict(checklist(record))
    assert answers["Unit of protection"].startswith(ONLY_RESPONSES)
    assert "but the target" in answers["Unprotected quantities"]
    assert "Row-level, responses only" in deployment_entry(record)
    (tmp_path / "r.json").write_text(json.dumps(record))
    assert ONLY_RESPONSES in str(pc.load(tmp_path / "r.json"))
    (account,) = ledger.accounts()
    assert account.neighbours is Neighbours.REPLACE_RESPONSE
    assert account.as_dict()["spent"]["neighbours"] == "replace-one-response"
    recorded_release(
        problem(frame(300, 7)), Request("joint-pmt", Budget(1.0)), SecureNoise(), ledger, dataset="survey", key="l"
    )
    (account,) = ledger.accounts()
    assert account.spent == pytest.approx(2**0.5) and account.neighbours is Neighbours.REPLACE_RESPONSE


def test_the_responses_of_a_person():
    """With several rows a person's responses are what is protected, at so many times the budget."""
    words = Guarantee(1.0, Neighbours.REPLACE_RESPONSE, 1e-6, Unit(3)).words
    assert "the responses of all rows of one person" in words and words.endswith(ONLY_RESPONSES)


def test_the_command_line_says_it_wherever_it_shows_it(tmp_path, capsys):
    """Refused without the declaration; release, plan and ledger name what is not protected."""
    frame(300, 5).to_csv(tmp_path / "p.csv", index=False)
    frame(80, 1).to_csv(tmp_path / "b.csv", index=False)
    public = ["--public", str(tmp_path / "b.csv"), "--target", "y"]
    ask = ["release", "--private", str(tmp_path / "p.csv"), *public, "--method", ID, "--mu", "1"]
    ledger = ["--ledger", str(tmp_path / "l.db")]
    Ledger(ledger[1]).cap("survey", 3.0)
    ask += ["--dataset", "survey"]
    assert main([*ask, *ledger]) == 2 and not capsys.readouterr().out
    for words in (
        [*ask, *ledger, "--covariates", "public"],
        ["plan", *public, "--covariates", "public", "--rows", "1000", "--mu", "1", "--all"],
        ["ledger", "show", *ledger],
    ):
        assert main(words) == 0
        assert ONLY_RESPONSES in capsys.readouterr().out
    assert main(["plan", *public, "--rows", "1000", "--mu", "1", "--all"]) == 0
    assert ID not in capsys.readouterr().out


def test_python_takes_it():
    """``covariates="public"`` and the method's name."""
    model = pc.PrivateRegressor(mu=1.0, method="label-DP", covariates="public")
    model.fit(frame(400, 8), frame(80, 1), target="y", lab=True, seed=1)
    assert model.record_["method"] == ID and ONLY_RESPONSES in str(model.results_)
