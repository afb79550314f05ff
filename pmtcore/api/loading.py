"""Results from a record in plain fields: of a fit just made, or of a file that a colleague sent."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pmtcore.accounting.budgets import of_person, person_note
from pmtcore.api.inputs import new_rows
from pmtcore.base.bands import Bands
from pmtcore.base.distributions import student
from pmtcore.base.messages import FaceMessage, InputError, ReleaseNote, reraised_as
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.base.results import Results
from pmtcore.base.roots import root
from pmtcore.base.strict_json import parse_json_object
from pmtcore.glm.families import GAUSSIAN, family
from pmtcore.methods.joint_moment.record import FORMAT as MOMENT_FORMAT
from pmtcore.methods.joint_moment.record import MOST_BYTES
from pmtcore.releases.record import FORMAT, VERSION, bands_of, modelled_response
from pmtcore.tables.design import Design

if TYPE_CHECKING:
    from pmtcore.explore.moment import Moment

_MOST_FREEDOM = 1e6  # degrees of freedom from which quantiles no longer differ from the normal ones


def load(path: str | Path) -> Results | Moment:
    """Open a saved release, to predict, test and tabulate without any private table.

    Returns:
        The results of the release; of a bare record of a joint moment, the moment.

    Raises:
        InputError: no such file, or no record that this version can read.
    """
    with reraised_as(InputError(FaceMessage.RECORD_UNREADABLE, place=path), OSError, TypeError, ValueError):
        data = Path(path).read_bytes()
    if len(data) > MOST_BYTES:
        raise InputError(FaceMessage.RECORD_TOO_LARGE, megabytes=MOST_BYTES // 1000000)
    with reraised_as(InputError(FaceMessage.NOT_A_RELEASE)):
        fields = parse_json_object(data)
    if fields.get("format") == MOMENT_FORMAT:
        from pmtcore.explore.moment import Moment  # noqa: PLC0415  # the command line prints without pandas

        return Moment.from_bytes(data)
    return results_from_record(fields)


def results_from_record(fields: Mapping[str, Any]) -> Results:
    """Return the results of a release in plain fields.

    Raises:
        InputError: no release, or of a later version.
    """
    version = fields.get("version", 1)
    if fields.get("format", FORMAT) != FORMAT or not isinstance(version, int):
        raise InputError(FaceMessage.NOT_A_RELEASE)
    if version > VERSION:
        raise InputError(FaceMessage.RECORD_NEWER, version=version, expected=VERSION)
    with reraised_as(InputError(FaceMessage.NOT_A_RELEASE)):
        design = Design.from_dict(fields["design"]) if fields.get("design") else None
        return results_of(cast(ReleaseRecord, fields), "", design)


def results_of(record: ReleaseRecord, spent: str = "", design: Design | None = None) -> Results:
    """Return the results of a release.

    Args:
        record: plain fields, as :meth:`pmtcore.releases.record.Release.as_dict` writes them.
        spent: sentence on the spend of the fit.
        design: design that turns new rows into features; ``None``: predictions are refused.
    """
    bands, released = bands_of(record), record.get("released", {})
    coefficients = np.array(list(record["coefficients"].values()), dtype=float)
    centre, freedom = _centre_and_freedom(coefficients, bands)
    reasons = "" if record["standing"] == "sound" else f": {'; '.join(record['standing_reasons'])}"
    chosen = family(str(record.get("public", record).get("family") or GAUSSIAN.id))
    note = person_note(record["guarantee"])
    promise = ReleaseNote.PERSON_FIGURES.sentence(reason=note) if note else ""
    lines = (promise, record["guarantee_in_words"], *record["notes"])
    return Results(
        names=tuple(record["coefficients"]),
        coefficients=coefficients,
        centre=centre,
        errors={} if bands is None else bands.parts,
        freedom=freedom,
        covariances=None if bands is None else bands.covariance,
        endog=modelled_response(record["target"], record.get("public", {}).get("positive")),
        title=f"{record['title']} ({record['method']})",
        family=chosen.id,
        nobs=int(record["n"]),
        public_rows=record.get("public_rows"),
        rsquared=released.get("r_squared"),
        residual_sd=released.get("residual_sd") if chosen.id == "gaussian" else None,
        guarantee=of_person(record["guarantee"]),
        standing=f"{record['standing']}{reasons}",
        record=record,
        mean=chosen.mean,
        slope=chosen.slope,
        features=None if design is None else partial(new_rows, design=design),
        words=tuple(line for line in lines if line),
        spent=spent,
    )


def in_words(record: ReleaseRecord) -> str:
    """Return a release as the text that a terminal prints."""
    return str(results_of(record))


def _centre_and_freedom(values: np.ndarray, bands: Bands | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre of the intervals (d,) and their degrees of freedom (d,); in version 1 from the intervals."""
    if bands is None:
        return values, np.full(len(values), np.inf)
    if bands.centre is not None and bands.freedom is not None:
        return bands.centre, bands.freedom
    total = np.sqrt(np.sum(np.square(list(bands.parts.values())), axis=0))
    ratio = (bands.high - bands.low) / 2 / np.maximum(total, 1e-300)
    return (bands.low + bands.high) / 2, np.array([_degrees_of_freedom(value) for value in ratio])


def _degrees_of_freedom(ratio: float) -> float:
    """Return the degrees of freedom at which the 97.5 % quantile is this many standard errors."""
    low, high = student.ppf(0.975, 1.0), student.ppf(0.975, _MOST_FREEDOM)
    if not high < ratio < low:
        return _MOST_FREEDOM if ratio <= high else 1.0
    return root(lambda freedom: student.ppf(0.975, freedom) - ratio, 1.0, _MOST_FREEDOM)
