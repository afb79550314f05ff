"""More questions to one released moment: instruments, nested models, criteria, standardized figures, several tables."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from linearmodels.iv import IV2SLS

from pmtcore.base.messages import ExploreMessage
from pmtcore.cli.main import main
from pmtcore.explore.moment import Moment
from pmtcore.explore.regression import information_criteria, regression
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from tests.helpers import refused
from tests.releases.test_explore import opened


@pytest.fixture(scope="module")
def exact():
    """Return a moment without noise, truncation and shrinkage, and its rows by name."""
    moment, z = opened(n=3000, m=400)
    state = moment.state
    inverse = np.linalg.inv(state.root)
    plain = inverse @ (z.T @ z / len(z)) @ inverse.T
    moment.__dict__["state"] = replace(state, moment=plain, weight=np.ones_like(plain))
    return moment, pd.DataFrame(z, columns=["one", "a", "b", "g", "hit"])


def test_two_stages_are_those_of_others(exact):
    """Coefficients, the first stage's F and R^2 of linearmodels on the same rows, to 1e-6."""
    moment, rows = exact
    result = moment.iv("hit ~ a + b", endogenous="b", instruments="g=x")
    theirs = IV2SLS.from_formula("hit ~ 1 + a + [b ~ g]", rows).fit(cov_type="unadjusted")
    order = ["Intercept", "a", "b"]
    assert np.allclose(result.regression.params[order], theirs.params[order], rtol=1e-6)
    first = result.first_stage["b"]
    small, large = smf.ols("b ~ a", rows).fit(), smf.ols("b ~ a + g", rows).fit()
    f, p, df = large.compare_f_test(small)
    assert first.textbook_f == pytest.approx(f, rel=1e-6) and first.df_num == df
    assert first.textbook_pvalue == pytest.approx(p, rel=1e-5)
    assert "first-stage F" in repr(result) and result.regression.residual_sum / 3000 == pytest.approx(
        float(np.mean(np.asarray(theirs.resids) ** 2)), rel=1e-6
    )


def test_instruments_for_themselves_are_least_squares(exact):
    """With each feature its own instrument, two stages are one."""
    moment, _ = exact
    from pmtcore.explore.regression import two_stage

    fit = moment.regress("hit ~ a + b").fit
    staged = two_stage(moment.state, fit.response, fit.features, fit.features)
    assert np.allclose(staged.coefficients, fit.coefficients) and np.allclose(staged.a, fit.a)
    assert np.allclose(staged.privacy, fit.privacy)


def test_nested_models_and_criteria(exact):
    """F, adjusted R^2, log-likelihood, AIC and BIC of statsmodels, to 1e-6."""
    moment, rows = exact
    small, large = smf.ols("b ~ a", rows).fit(), smf.ols("b ~ a + g + hit", rows).fit()
    test = moment.nested("b ~ a", "b ~ a + `g=x` + hit")
    f, p, df = large.compare_f_test(small)
    assert (test.textbook_f, test.df_num) == (pytest.approx(f, rel=1e-6), df)
    assert test.textbook_pvalue == pytest.approx(p, rel=1e-5, abs=1e-300) and test.pvalue >= 0
    result = information_criteria(moment.regress("b ~ a + `g=x` + hit"))
    assert result["aic"] == pytest.approx(large.aic, rel=1e-6) and result["bic"] == pytest.approx(large.bic, rel=1e-6)
    assert result["llf"] == pytest.approx(large.llf, rel=1e-6)
    assert result["adjusted_r_squared"] == pytest.approx(large.rsquared_adj, rel=1e-6)
    assert moment.regress("b ~ a").rsquared == pytest.approx(small.rsquared, rel=1e-6)


def test_standardized_and_partial(exact):
    """Coefficients of standardized columns; correlations of residuals."""
    moment, rows = exact
    fit = moment.regress("b ~ a + hit")
    z = (rows - rows.mean()) / rows.std(ddof=0).replace(0, 1)
    theirs = smf.ols("b ~ a + hit", z).fit().params[["a", "hit"]]
    assert np.allclose(fit.standardized.values, theirs, rtol=1e-6)
    left = [smf.ols(f"{name} ~ hit", rows).fit().resid for name in ("a", "b")]
    assert fit.partial_correlations.values[0] == pytest.approx(np.corrcoef(*left)[0, 1], rel=1e-6)
    assert np.allclose(fit.partial_correlations.values**2, fit.partial_r_squared.values)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["standardized", "partial_correlations"])
def test_gradients_are_those_of_the_figures(exact, what):
    """Privacy standard errors against the figures' own differences under small noise."""
    moment, _ = exact
    rng, drawn = np.random.default_rng(7), []
    state = moment.state

    def figures_of(one):
        return getattr(regression(one, moment.names, "b", ["a", "hit"], lam=0.0, intercept=True), what)

    for _ in range(400):
        g = rng.standard_normal(state.moment.shape) * np.sqrt(0.5)
        g = np.triu(g, 1) + np.triu(g, 1).T + np.diag(rng.standard_normal(len(g)))
        drawn.append(figures_of(replace(state, moment=state.moment + 0.1 * g * state.sigma)).values)
    assert np.allclose(np.std(drawn, axis=0), 0.1 * figures_of(state).bands.privacy, rtol=0.2)


def test_the_noise_of_two_stages(exact):
    """The privacy part of two-stage least squares against its own differences under small noise."""
    from pmtcore.explore.regression import two_stage

    moment, _ = exact
    state, rng, drawn = moment.state, np.random.default_rng(8), []
    at = [moment.names.index(name) for name in ("hit", "(intercept)", "a", "b", "g=x")]
    base = two_stage(state, at[0], [at[1], at[2], at[3]], [at[1], at[2], at[4]])
    for _ in range(400):
        g = rng.standard_normal(state.moment.shape) * np.sqrt(0.5)
        g = np.triu(g, 1) + np.triu(g, 1).T + np.diag(rng.standard_normal(len(g)))
        moved = replace(state, moment=state.moment + 0.01 * g * state.sigma)
        drawn.append(two_stage(moved, at[0], [at[1], at[2], at[3]], [at[1], at[2], at[4]]).coefficients)
    assert np.allclose(np.std(drawn, axis=0), 0.01 * np.sqrt(np.diag(base.privacy)), rtol=0.2)


@pytest.mark.parametrize(
    ("endogenous", "instruments", "kind"),
    [
        ("hit", "g=x", ExploreMessage.STRAY_ENDOGENOUS),
        ("b", "a", ExploreMessage.INSTRUMENT_IN_FORMULA),
        (["a", "b"], "g=x", ExploreMessage.INSTRUMENT_COUNT),
        ([], "g=x", ExploreMessage.STRAY_ENDOGENOUS),
        ("b", [], ExploreMessage.INSTRUMENT_COUNT),
    ],
)
def test_roles_that_do_not_fit(exact, endogenous, instruments, kind):
    """Endogenous columns that are no features, instruments that are, and too few of them."""
    with refused(kind):
        exact[0].iv("hit ~ a + b", endogenous=endogenous, instruments=instruments)


def test_formulas_with_factors_products_and_dots(exact):
    """``C(g)`` and ``g`` are the dummies, ``.`` the given columns, ``a*b`` needs its product declared."""
    moment, _ = exact
    assert moment.regress("b ~ a + C(g)").names == moment.regress("b ~ a + g").names == ("(intercept)", "a", "g=x")
    assert moment.regress("b ~ .").names == ("(intercept)", "a", "g=x", "hit")
    with refused(ExploreMessage.UNDECLARED_PRODUCT):
        moment.regress("hit ~ a*b")
    assert moment.regress("b ~ a | g").names == moment.regress("b ~ a + C(g)").names
    wide, _ = opened(n=2000, m=300, derived="a:b")
    assert wide.regress("hit ~ a*b").names == ("(intercept)", "a", "b", "a:b")


def test_nested_needs_one_in_the_other(exact):
    """Other responses, and features that the larger one lacks."""
    for small, large, kind in (
        ("b ~ hit", "b ~ a", ExploreMessage.BESIDE_THE_LARGER),
        ("b ~ a", "b ~ a", ExploreMessage.NOT_NESTED),
        ("a ~ 1", "b ~ a", ExploreMessage.NOT_NESTED),
    ):
        with refused(kind):
            exact[0].nested(small, large)


def of_site(seed, n, **more):
    """Return a moment of one site's rows, all sites under the same public rows."""
    from pmtcore.base.private_rows import PrivateRows
    from pmtcore.public.moments import public_from_rows
    from tests.helpers import plan
    from tests.releases.test_explore import NAMES, table

    x, y = table(500, 1)
    px, py = table(n, seed)
    settings = {"radius": 30.0, "public_rows": "yes", "shrinkage": "none", **more}
    made = plan("joint-moment", public_from_rows(x, y, NAMES, "hit"), n, 2.0, **settings)
    noise = SeededNoise(seed) if more.pop("noisy", False) else ZeroNoise()
    return Moment(made.run(PrivateRows.from_arrays(px, py, NAMES), noise, 1).record()), np.column_stack([px, py])


def test_sites_add_up():
    """Two sites together are the fit of all rows; the noise of the sum is that of independent noises."""
    (one, z1), (two, z2) = of_site(3, 2000), of_site(4, 5000)
    both = Moment.combine([one, two], disjoint="one hospital each")
    z = np.vstack([z1, z2])
    exact = np.linalg.lstsq(z[:, [0, 1, 3]], z[:, 2], rcond=None)[0]
    fit = both.regress("b ~ a + `g=x`")
    assert np.allclose(fit.fit.coefficients, exact, atol=2e-3)
    assert both.record.n == 7000 and len(both.guarantees) == 2 and both.disjoint == "one hospital each"
    sigmas = np.array([one.record.sigma, two.record.sigma])
    assert both.record.sigma == pytest.approx(np.linalg.norm(sigmas * [2000, 5000]) / 7000)
    assert np.all(fit.bse < one.regress("b ~ a + `g=x`").bse)
    assert both.record.guarantee["mu"] == 2.0
    again = Moment.from_bytes(json.dumps(both.record.as_dict()).encode())
    assert np.allclose(again.regress("b ~ a").params, both.regress("b ~ a").params)


def test_what_cannot_be_added():
    """No reason, one table twice, other radii, other columns: each by its kind."""
    (one, _), (two, _), (far, _) = of_site(3, 2000), of_site(4, 2000), of_site(5, 2000, radius=20.0)
    other, _ = opened(n=2000, m=500, derived="a:b")
    for moments, reason, kind in (
        ([one, two], " ", ExploreMessage.DISJOINT_REASON),
        ([one, one], "sites", ExploreMessage.MOMENT_TWICE),
        ([one], "sites", ExploreMessage.TWO_MOMENTS_NEEDED),
        ([one, far], "sites", ExploreMessage.OTHER_RADII),
        ([one, other], "sites", ExploreMessage.OTHER_COLUMNS),
    ):
        with refused(kind):
            Moment.combine(moments, disjoint=reason)


def test_the_command_line_asks_the_same(tmp_path, capsys):
    """--endogenous, --instruments and --within; JSON has the first stage and the nested test."""
    moment, _ = opened(n=3000, m=400)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(moment.record.as_dict()))
    asked = ["explore", "--record", str(path), "--formula", "hit ~ a + b", "--json"]
    assert main([*asked, "--endogenous", "b", "--instruments", "g=x"]) == 0
    assert set(json.loads(capsys.readouterr().out)["first_stage"]) == {"b"}
    assert main([*asked, "--within", "hit ~ a"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["nested"]["df_num"] == 1 and {"aic", "bic", "adjusted_r_squared"} <= set(fields)
    assert main([*asked, "--endogenous", "b"]) == 2
    assert main([*asked[:-1], "--within", "hit ~ a"]) == 0 and "nested: F" in capsys.readouterr().out
