"""What is offered for tables of one's own: in which order, with which note, and that all of it was measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import TableNote, kind_of
from pmtcore.glm.families import family as family_of
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import methods, offered_methods, recommended_method
from pmtcore.public.moments import public_from_rows
from pmtcore.releases.release import Request, preview, release
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import table_from
from tests.helpers import names

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {"gaussian": "Least squares", "logistic": "Labels", "poisson": "Counts"}
# The fit without privacy, and those with another target or none: no distance to that fit is defined.
_UNMEASURED = {"pmt-moment"}


def public_rows(family):
    """Sixty public rows of three features with a response of the family."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    noise = rng.standard_normal(60)
    y = {"gaussian": x[:, 0] + noise, "logistic": x[:, 0] + noise > 0, "poisson": rng.poisson(1.0, 60)}[family]
    return public_from_rows(x, y.astype(float), names(3), "y", ridge=0.0, family=family_of(family), lam=0.0)


def measured(family):
    """Ids in the table of the accuracy page for a family, and whether a row says that the method is behind."""
    page = (ROOT / "docs" / "accuracy.md").read_text()
    table = page.split(f"**{FAMILIES[family]}, every method.**")[1].split("\n\n")[1]
    rows = [line.split("|")[1:-1] for line in table.splitlines()[2:]]
    return {re.findall(r"`([\w-]+)`", row[0])[0]: row[-1].strip() for row in rows}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_offered_method_was_measured_on_real_tables(family):
    """Each sound method of a family has a row on the accuracy page, which names those that the public fit beats."""
    wanted = {
        entry.id: "yes" if family in entry.behind_public_fit else ""
        for entry in methods()
        if entry.standing is ReleaseStatus.SOUND and entry.same_target and family in entry.families
    }
    stated, wanted = measured(family), {id: behind for id, behind in wanted.items() if id not in _UNMEASURED}
    different = sorted(id for id in {*stated, *wanted} if stated.get(id) != wanted.get(id))
    assert not different, f"the row of {different} in docs/accuracy.md: CONTRIBUTING.md, Add a method, step 5"


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_public_fit_beats_is_offered_last(family):
    """The recommended method first, then the others, then those behind the public fit; none is left out."""
    public = public_rows(family)
    result = offered_methods(public)
    behind = [family in entry.behind_public_fit for entry in result]
    assert result[0] is recommended_method(public) and not behind[0]
    assert behind == sorted(behind) and any(behind) and len(set(result)) == len(result) > 5


@pytest.mark.parametrize(("family", "said"), [("poisson", True), ("logistic", False)])
def test_a_method_behind_the_public_fit_says_so_before_and_after_the_spend(family, said):
    """Preview and release have the note for counts, where the method is behind, and not for labels."""
    public = public_rows(family)
    frame = pd.DataFrame(public.rows, columns=[*public.names, "y"])
    private, theirs = table_from(frame, "p", "private"), table_from(frame.head(40), "b", "public")
    problem = prepare(private, theirs, Choices(target="y", family=family))
    request = Request("dp-erm", Budget(1.0), {})
    for notes in (preview(problem, request).verdict, release(problem, request, SeededNoise(1)).notes):
        assert (TableNote.METHOD_BEHIND_PUBLIC_FIT in map(kind_of, notes)) is said
