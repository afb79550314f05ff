"""Audit diffprivlib's LinearRegression in an environment of its own.

    python3 -m venv .peers && .peers/bin/pip install -r benchmarks/peers/requirements.txt
    PYTHONPATH=. .peers/bin/python benchmarks/peers/audit_diffprivlib.py

With bounds (0, 5) version 0.6 takes the lower bound twice where it sets the sensitivity of the sum of squares, so
that sum has no noise; with bounds (-5, 5) the same code is right. Both are audited.
"""

import warnings

from diffprivlib.models import LinearRegression

from pmtcore.auditing.lower_bound import audit_estimator, neighbouring_pairs

warnings.filterwarnings("ignore")


def fitter(low: float, high: float, epsilon: float):
    def fit(x, y, run):
        model = LinearRegression(
            epsilon=epsilon, bounds_X=(low, high), bounds_y=(0, 1), fit_intercept=False, random_state=run % 2**31
        )
        return model.fit(x, y).coef_

    return fit


if __name__ == "__main__":
    for low, high in ((0.0, 5.0), (-5.0, 5.0)):
        audited = audit_estimator(
            fitter(low, high, 1.0), neighbouring_pairs(20, 1, high, (0.0, 1.0))[0], 1.0, delta=0.0, trials=2000
        )
        print(f"bounds ({low:g}, {high:g}): {audited.sentence}")
