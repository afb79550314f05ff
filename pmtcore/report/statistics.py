"""Statistics of a release other than its coefficients, each with a plain title.

Methods and records keep their short names, which programs read; people read the titles. The share of rows that a method
shortens has one name and says where it comes from: Conditioning, Plan, Release and the report print the same words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from pmtcore.base.messages import ReleaseNote, ReportWords
from pmtcore.base.numbers import join_names, percent, rounded, unbroken
from pmtcore.public.moments import INTERCEPT

NAME = "Rows whose contribution is shortened (truncation)"
# Share of a band's width below which a shift cannot be seen in a chart.
_VISIBLE_SHIFT = 0.02
# Coefficients that an alarm names.
_MOST_NAMED = 3
# What a coefficient changes, by family of regression: these words, then the response.
SCALES = {
    "gaussian": "",
    "logistic": "the log-odds of ",
    "boosting": "the score of ",
    "poisson": "the log of the mean of ",
}
# What e to the power of a coefficient is called, where it is a ratio.
RATIOS = {"logistic": "odds ratio", "boosting": "odds ratio (approximate)", "poisson": "rate ratio"}


class ShareOrigin(StrEnum):
    """Where a share of shortened rows comes from."""

    PREDICTED = "predicted from public rows"
    RELEASED = "released estimate (noisy, no band)"
    EXACT = "exact, for the curator alone"


@dataclass(frozen=True)
class TruncatedShare:
    """A share of rows, or of gradients, beyond their bound.

    Attributes:
        share: between 0 and 1.
        origin: whether public rows, a release or the private rows themselves gave it.
    """

    share: float
    origin: ShareOrigin

    @property
    def words(self) -> str:
        """Return the share as a percentage of rows or gradients, with its origin.

        >>> TruncatedShare(0.0344, ShareOrigin.PREDICTED).words, TruncatedShare(0.0, ShareOrigin.RELEASED).words
        ('3.4 % of private rows, predicted from public rows', 'none, released estimate (noisy, no band)')
        >>> TruncatedShare(0.0, ShareOrigin.PREDICTED).words
        'no public row would be; a few private ones may be'
        """
        if self.share <= 0 and self.origin is ShareOrigin.PREDICTED:
            return "no public row would be; a few private ones may be"
        return f"{self.percentage}, {self.origin}"

    @property
    def percentage(self) -> str:
        """Return the share as a percentage of private rows."""
        return f"{percent(min(self.share, 1.0))} of private rows" if self.share > 0 else "none"


# Name of a share in plans and releases, and its origin there.
SOURCES = {"predicted_truncation_rate": ShareOrigin.PREDICTED, "clipped_share": ShareOrigin.RELEASED}


def truncated_shares(*figures: Mapping[str, Any]) -> list[TruncatedShare]:
    """Return the shares among figures of plans and releases by name, predictions first; empty where there are none.

    Args:
        figures: facts of a plan, or what a release holds, in plain fields.
    """
    return [
        TruncatedShare(float(figure[name]), origin)
        for name, origin in SOURCES.items()
        for figure in figures
        if isinstance(figure.get(name), int | float)
    ]


def truncated_share_words(*figures: Mapping[str, Any]) -> str:
    """Return the share in one line under its name; says so where none is known.

    A released share stands first, and beside it what the plan had predicted of the same share.
    """
    shares = truncated_shares(*figures)
    if not shares:
        return f"{NAME}: not predicted for this method."
    released = [share for share in shares if share.origin is not ShareOrigin.PREDICTED]
    if not released:
        return unbroken(f"{NAME}: {shares[0].words}.")
    before = f"; {shares[0].percentage} had been predicted" if shares[0] is not released[0] else ""
    return unbroken(f"{NAME}: {released[0].words}{before}.")


def truncation_of(record: Mapping[str, Any]) -> str:
    """Return the truncated share of a release in plain fields, and whether its bands allow for the truncation error."""
    figures = record["public"], record["released"]
    words = truncated_share_words(*figures)
    if not any(one.share > 0 for one in truncated_shares(*figures)):
        return words
    bands = record["bands"].values()
    if not bands:
        allowed = "this method has no bands to allow for it"
    elif any(band.get("truncation", 0.0) > 0 for band in bands):
        allowed = "the bands allow for it, by their truncation sd"
    else:
        allowed = "the bands have no separate part for this; what public rows predict of it is in their privacy sd"
    alike = " The prediction is for private rows like the public ones." if record.get("rows_disagree") else ""
    return f"{words} Shortening biases the coefficients; {allowed}.{alike}"


TITLES: Mapping[str, str] = {
    "residual_variance": "variance of the residuals",
    "residual_sd": "standard deviation of the residuals",
    "r_squared": "R squared",
    "after_whitening": "condition number and smallest eigenvalue of the whitened second moment",
    "kappa": "condition number of the whitened second moment",
    "lambda_min": "smallest eigenvalue of the whitened second moment",
    "ridge_path": "coefficients at other ridge penalties",
    "alone": "coefficients from the released moment alone, with their covariance",
    "moment": "second moment of the features",
    "inverse": "inverse of that second moment",
    "columns_that_differ": "columns whose mean or variance differs most from the public rows'",
    "joint_moment": "second moment of all columns: every mean, variance, correlation and regression among them",
    "clipping_bound": "bound that gradients were clipped to",
    "zeros": "number of coefficients that are exactly zero",
    "retrieved_share_displayed": "share of the budget retrieved, by the formula as displayed",
    "retrieved_share_example": "share of the budget retrieved, as in the paper's example",
    "retrieved_share_proved": "share of the budget retrieved, as far as it is proved",
    **dict.fromkeys(SOURCES, f"share of {NAME.lower()}"),
}
# Public fields among the released ones, which describe them.
_PUBLIC = ("names",)
# What bands and predictions are made of, which a record keeps for readers who compute with it.
_BEHIND_BANDS = (
    "centre, covariance and degrees of freedom of the error bands (for joint tests; covered by the same guarantee)"
)
_HOMOGENEITY_ANSWER = "one answer, covered by the same guarantee: do private rows look unlike the public ones?"


def off_centre_words(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """Say why values (k,) are not in the middle of their limits (k,), where some are not; empty otherwise.

    Args:
        value: on a scale on which bands are symmetric.
        low: lower limits.
        high: upper limits.
    """
    with np.errstate(all="ignore"):
        aside = np.abs(value - (low + high) / 2) > _VISIBLE_SHIFT * (high - low)
    if not np.any(aside):
        return ""
    return ReportWords.QUOTE_WITH_BAND.sentence()


def farthest_from_public(names: Sequence[str], public_fit: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[str]:
    """Return the coefficients whose public fit lies outside the released band, the farthest first, at most three.

    The distance is measured in half-widths of the band, from released and public figures alone. The intercept is
    returned, as the average level of the outcome, only where no other coefficient is outside.

    Args:
        names: of the coefficients.
        public_fit: their values (k,) by the public rows.
        low: lower limits (k,) of the released bands.
        high: upper limits (k,).

    >>> farthest_from_public(("a", "b", "c"), np.array([0.0, 5.0, 9.0]), np.array([-1.0, 0, 0]), np.array([1.0, 2, 2]))
    ['c', 'b']
    >>> farthest_from_public(("(intercept)", "b"), np.array([9.0, 0.5]), np.array([-1.0, 0]), np.array([1.0, 2]))
    ['the average level']
    """
    with np.errstate(all="ignore"):
        far = np.nan_to_num(np.abs(public_fit - (low + high) / 2) / ((high - low) / 2), posinf=0.0)
    outside = [names[at] for at in np.argsort(-far, kind="stable") if far[at] > 1]
    effects = [name for name in outside if name != INTERCEPT]
    return effects[:_MOST_NAMED] if effects or not outside else ["the average level"]


def disagreement_words(columns: Sequence[str] = ()) -> str:
    """Return the alarm of a release whose figures show that private rows may be unlike the public ones.

    Args:
        columns: columns of the table or coefficients that differ most.
    """
    most = f", most for {join_names(list(columns))}" if columns else ""
    return ReportWords.SAMPLES_DIFFER.sentence(most=most, statement=ReleaseNote.UNLIKE_OR_FALSE_ALARM.sentence())


def disagreement_of(record: Mapping[str, Any]) -> str:
    """Return the alarm of a release in plain fields; empty where there is none."""
    if not record.get("rows_disagree"):
        return ""
    if columns := record["released"].get("columns_that_differ"):
        return disagreement_words(columns)
    fit, bands = record["public"].get("public_fit"), record["bands"]
    names = list(record["coefficients"])
    if fit is None or set(bands) != set(names):
        return disagreement_words()
    low, high = (np.array([bands[name][end] for name in names], dtype=float) for end in ("low", "high"))
    return disagreement_words(farthest_from_public(names, np.asarray(fit, dtype=float), low, high))


def penalty_words(penalty: float | None, prior_sd: float | None) -> str:
    """Say that coefficients are those of a penalized fit, where the problem has a ridge; empty otherwise.

    Args:
        penalty: the ridge that was chosen.
        prior_sd: standard deviation of an effect in the default penalty, where none was chosen.
    """
    if prior_sd:
        return ReportWords.WEAK_PRIOR.sentence(value=rounded(prior_sd))
    if not penalty:
        return ""
    return ReportWords.RIDGE_PENALTY.sentence(penalty=rounded(penalty))


def title(name: str) -> str:
    """Return the title of a statistic; a statistic of a later version keeps its name.

    >>> title("r_squared"), title("not_yet_known")
    ('R squared', 'not yet known')
    """
    return TITLES.get(name, name.replace("_", " "))


def released_titles(released: Mapping[str, Any]) -> list[str]:
    """Return the titles of the statistics computed from private rows, each once, in the record's order."""
    return list(dict.fromkeys(title(name) for name in released if name not in _PUBLIC))


def titles_behind_bands(record: Mapping[str, Any]) -> list[str]:
    """Return the title of the centres, degrees of freedom and covariances that a record has for further calculation."""
    return [_BEHIND_BANDS] if record.get("inference") else []


def titles_behind(record: Mapping[str, Any]) -> list[str]:
    """Return the titles of the statistics that a record derives from released figures, other than coefficients."""
    behind = titles_behind_bands(record)
    if "rows_disagree" not in record:
        return behind
    return [*behind, f"{_HOMOGENEITY_ANSWER} {'Yes' if record['rows_disagree'] else 'No'}"]
