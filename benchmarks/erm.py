"""Repeats of paper D's settings, also with our methods: ``python benchmarks/erm.py [REPEATS] [SETTING ...]``.

Each repeat draws new data, fits the public rows and releases once with every method, at one epsilon under one relation.
Printed: median prediction errors, how often ``napp-public`` is better than the best ``dp-erm``, and the seconds taken.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from pmtcore.papers.gallery.erm import prediction_trial

SETTINGS = {"linear": 500, "linear-small": 200, "logistic": 1000, "logistic-small": 500, "poisson": 1000, "adult": 0}
LAMS = (0.0, 0.1, 1.0, 10.0)
TRIED = (
    *((f"dp-erm, Lambda {lam:g}", "dp-erm", {"target": lam}) for lam in LAMS),
    ("napp-public", "napp-public", {}),
    ("napp-public, returned", "napp-public", {"retrieved": "return"}),
    ("public fit alone", "public-only", {}),
    ("without privacy", "non-private", {"target": 0.0}),
)


def measure(name: str, repeats: int, epsilon: float, delta: float) -> None:
    """Measure one setting at one budget (add-remove-one)."""
    kind, start = name.split("-", maxsplit=1)[0], time.perf_counter()
    trials = [
        prediction_trial(
            seed,
            kind=kind,
            n=SETTINGS[name],
            epsilons=[epsilon],
            delta=delta,
            tried=TRIED,
        )
        for seed in range(repeats)
    ]
    seconds = time.perf_counter() - start
    errors = {series: np.asarray([trial[series][0] for trial in trials]) for series in trials[0]}
    medians = {series: float(np.median(values)) for series, values in errors.items()}
    best = min((series for series in medians if series.startswith("dp-erm")), key=medians.__getitem__)
    better = float(np.mean(errors["napp-public"] < errors[best]))
    print(f"{name}, epsilon {epsilon:g}, delta {delta:g}, {repeats} repeats, {seconds:.1f} s")
    print("   " + ", ".join(f"{series} {value:.4g}" for series, value in medians.items()))
    print(f"   napp-public is below {best} in {better:.0%} of the repeats")


def main() -> None:
    """Measure and print."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    names = sys.argv[2:] or [name for name in SETTINGS if name != "adult"]
    for name in names:
        for epsilon, delta in ((0.4, 0.0), (1.0, 0.0), (1.0, 1e-3)):
            measure(name, repeats, epsilon, delta)


if __name__ == "__main__":
    main()
