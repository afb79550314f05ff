"""Computation of the chart of the first page, for the lab: ``python -m pmtcore.auditing.opening`` stores it anew.

A test compares the stored numbers with those of today's code.
"""

import json
from dataclasses import asdict

import numpy as np

from pmtcore.accounting.budgets import Budget
from pmtcore.auditing.opening_picture import STORED, OpeningPicture
from pmtcore.base.private_rows import Curator
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import recommended_method
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.planning import public_alone, sampling_alone, typical_ratio
from pmtcore.releases.release import Request, release
from pmtcore.tables import named
from pmtcore.tables.problem import prepare

# Budgets, from one at which noise exceeds the signal to one at which it is negligible beside sampling.
BUDGETS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
# Seed of the noise, whose draw is the same at every budget, so that only its scale changes with the slider.
_SEED = 11
_STUDY = Curator("synthetic rows, shown on the first page")


def compute_opening() -> OpeningPicture:
    """Return the picture of the synthetic demo, released at each budget: about a second."""
    private, public_rows, reasons = named.load("demo")
    problem = prepare(private, public_rows, named.entry("demo").choices, lab_reasons=reasons)
    public, id = problem.public, recommended_method(problem.public).id
    exact = exact_fit(public, problem.private).reveal(_STUDY)
    features = [name for name in public.names if name != INTERCEPT]
    at = [public.names.index(name) for name in features]
    scale, alone, sampling = public.spread[at], public_alone(public), sampling_alone(public, problem.private.n)
    if alone is None or sampling is None:
        raise ValueError("the opening's public rows have no target")
    released, widths = [], []
    for mu in BUDGETS:
        one = release(problem, Request(id, Budget(mu)), SeededNoise(_SEED))
        if one.bands is None:
            raise ValueError("the opening's method has no bands")
        low, high = one.bands.low[at], one.bands.high[at]
        released.append(np.stack([one.coefficients[at], low, high]) * scale)
        widths.append(typical_ratio(high - low, 2 * Z95 * alone.total[at]))
    return OpeningPicture(
        features,
        list(BUDGETS),
        exact[at] * scale,
        public.coefficients[at] * scale,
        np.stack(released, axis=1),
        np.array(widths),
        typical_ratio(sampling[at], alone.total[at]),
    )


if __name__ == "__main__":
    STORED.write_text(json.dumps(asdict(compute_opening()), default=np.ndarray.tolist) + "\n", encoding="utf-8")
