"""Release, plan, describe, compare, audit and the local model from one import."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pmtcore as pc
from pmtcore.base.messages import ArgumentMessage, AuditMessage, FaceMessage
from tests.helpers import refused

CHOSEN = {"target": "y", "features": ["age", "income"]}


def test_release_and_plan(private, public, tmp_path):
    """One call each; a release spends, a plan does not."""
    released = pc.release(private, public, **CHOSEN, mu=1.0, method="pmt-ridge", ledger=tmp_path / "l.db")
    assert released.record["method"] == "pmt-ridge" and "Spent mu = 1" in released.spent
    planned = pc.plan(public, n=2000, **CHOSEN, mu=[0.5, 1.0])
    assert sorted(set(planned.frame()["mu"])) == [0.5, 1.0] and len(planned.verdicts) == 2
    with refused(FaceMessage.NO_SUCH_ARGUMENT):
        pc.release(private, public, **CHOSEN, mu=1.0, nope=1)


def test_private_figures_carry_their_label(private, public):
    """What is computed from private rows without noise says so, in text and in a notebook."""
    for result in (
        pc.describe(private, public, **CHOSEN),
        pc.compare(private, public, **CHOSEN, methods=["joint-pmt", "public-only"], mu=1.0, trials=10),
    ):
        assert repr(result).startswith("[private, curator only]") and "private, curator only" in result._repr_html_()


class Leaky:
    """An estimator that claims privacy and adds none."""

    def __init__(self, noise: float = 0.0, random_state: int = 0) -> None:
        self.noise, self.random_state = noise, random_state

    def get_params(self, deep: bool = True) -> dict[str, float]:
        return {"noise": self.noise, "random_state": self.random_state}

    def fit(self, x, y):
        rng = np.random.default_rng(self.random_state)
        self.coef_ = x.T @ y / len(y) + self.noise * rng.standard_normal(x.shape[1])
        return self


def test_audit_of_somebody_elses_estimator():
    """A planted leak is found; with noise that is far too large nothing is found."""
    assert pc.audit(Leaky(), epsilon=1.0, trials=1000).violated
    assert not pc.audit(Leaky(noise=10.0), epsilon=1.0, trials=1000).violated
    assert pc.audit(lambda x, y, run: x.sum() + y.sum(), epsilon=1.0, trials=1000).violated
    with refused(FaceMessage.CLAIM_MISSING):
        pc.audit(Leaky())
    with refused(FaceMessage.NOT_AN_ESTIMATOR):
        pc.audit(3, epsilon=1.0)


@pytest.mark.slow
def test_audit_of_a_method():
    """By its id, against its claim."""
    audited = pc.audit("joint-pmt", mu=1.0, trials=2000)
    assert audited.claimed == 1.0 and not audited.violated


def test_the_local_model(private, public, tmp_path):
    """Configuration, reports, fits: another family from the same reports costs nothing."""
    server = pc.LocalAggregator(public, target="high", features=["age", "income"], epsilon=6.0, people=2000)
    server.configuration(tmp_path / "c.json")
    device = pc.LocalClient(tmp_path / "c.json")
    assert device.guarantee["epsilon"] == 6.0 and "epsilon" in repr(device)
    reports = device.report(private[["age", "income", "high"]])
    assert len(reports) == 2000 and set(json.loads(reports[0])) == {"v", "c", "id", "r"}
    counts = server.add([*reports, "nonsense", reports[0]])
    assert counts["accepted"] == 2000 and counts["unreadable"] == 1 and counts["duplicate"] == 1
    fitted = server.fit()
    assert fitted.params["income"] > 0 and fitted.record["guarantee"]["trust"] == "local"
    assert server.fit("boosting").record["family"] == "boosting"
    with refused(FaceMessage.NO_CONFIGURATION):
        pc.LocalClient("nowhere.json")
    with refused(FaceMessage.ONE_REPORT_BUDGET):
        pc.LocalAggregator(public, target="high", features=["age"])


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"rows": 0}, ArgumentMessage.OUT_OF_RANGE),
        ({"features": 0}, ArgumentMessage.OUT_OF_RANGE),
        ({"bound": "x"}, ArgumentMessage.WRONG_TYPE),
        ({"response": (0,)}, AuditMessage.RESPONSE_RANGE),
        ({"response": 1}, ArgumentMessage.WRONG_TYPE),
        ({"tables": (1, 2)}, AuditMessage.NOT_ONE_ROW_APART),
        ({"tables": (([1.0], [1.0]), ([2.0], [1.0]))}, AuditMessage.NOT_ONE_ROW_APART),
    ],
)
def test_tables_that_no_audit_can_use(settings, kind):
    """One sentence each, before a run."""
    with refused(kind):
        pc.audit(lambda x, y, run: x.sum(), epsilon=1.0, trials=1000, **settings)
