"""scikit-learn's conventions, as far as a model that spends can keep them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import pmtcore as pc
from pmtcore.base.messages import LedgerMessage, ResultMessage
from pmtcore.ledger.log import LedgerError
from tests.helpers import refused

# A private fit needs public rows: fit(X, y) on arrays is refused before anything is read, with a sentence on it. A fit
# that took it would have to invent public rows, or take some of the private ones for public. So every check that fits
# fails, with that sentence; or, where it looks for words on samples, features or sparseness, without those words.
SENTENCE = "leaves no room for public rows"
OTHER_WORDS = {
    "check_classifier_not_supporting_multiclass",
    "check_classifiers_one_label",
    "check_classifiers_regression_target",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_positive_only_tag_during_fit",
}
PASS = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_fit1d",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}


@pytest.mark.parametrize("kind", [pc.PrivateRegressor, pc.PrivateClassifier])
def test_check_estimator(kind):
    """Checks without a fit pass; those that fit without public rows fail for that reason; no other check fails."""
    result = check_estimator(kind(mu=1.0), on_skip=None, on_fail=None)
    assert {each["check_name"] for each in result if each["status"] == "passed"} >= PASS
    for each in result:
        if each["status"] == "failed" and each["check_name"] not in OTHER_WORDS:
            assert SENTENCE in str(each["exception"]), each["check_name"]


def test_a_clone_has_the_parameters_and_nothing_else(private, public, tmp_path):
    """Neither release nor ledger nor key."""
    model = pc.PrivateRegressor(mu=1.0, features=["age", "income"], settings={"lam": 0.1})
    model.fit(private, public, target="y", ledger=tmp_path / "l.db", key="mine", quiet=True)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "release_")
    with pytest.raises(NotFittedError):
        copy.predict(public)
    assert is_regressor(model) and is_classifier(pc.PrivateClassifier(mu=1.0))


def test_a_grid_search_is_charged(private, public, tmp_path, capsys):
    """Every fit of a clone is a spend in the ledger, said, and refused at the cap: never silent."""
    book = pc.Ledger(str(tmp_path / "l.db"))
    book.cap("survey", 1.5)
    search = GridSearchCV(
        pc.PrivateRegressor(mu=0.5, features=["age", "income"]),
        {"settings": [{"lam": 0.0}, {"lam": 0.1}]},
        scoring=lambda model, rows: -float(np.mean((model.predict(rows) - rows["y"]) ** 2)),
        cv=2,
        refit=False,
        error_score="raise",
    )
    search.fit(private, public=public, target="y", ledger=book, dataset="survey")
    assert book.account("survey").spent == pytest.approx(1.0)
    assert capsys.readouterr().out.count("Spent mu = 0.5") == 4
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        search.set_params(estimator__mu=0.75).fit(private, public=public, target="y", ledger=book, dataset="survey")
    assert book.account("survey").spent <= 1.5


def test_there_is_no_score():
    """A score on private rows would be a private figure that nobody paid for."""
    with refused(ResultMessage.NO_SCORE):
        pc.PrivateRegressor(mu=1.0).score(None, None)
