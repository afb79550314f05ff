"""diffprivlib in an environment of its own: reads rows from a file, writes coefficients to another.

Run by run.py with the python that PMT_PEERS names. Bounds are the true ones of the private rows, which is an advantage.
"""

import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression

warnings.filterwarnings("ignore")

source, target = sys.argv[1:]
data = np.load(source)
x, y, epsilon, trials = data["x"], data["y"], float(data["epsilon"]), int(data["trials"])
constant = np.ptp(x, axis=0) == 0
features, fits = x[:, ~constant], []
for trial in range(trials):
    if bool(data["labels"]):
        norm = float(np.max(np.linalg.norm(features, axis=1)))
        model = LogisticRegression(
            epsilon=epsilon, data_norm=norm, C=float(data["C"]), random_state=trial, max_iter=1000
        )
    else:
        reach = np.max(np.abs(features), axis=0)
        bound = float(np.max(np.abs(y)))
        model = LinearRegression(
            epsilon=epsilon,
            bounds_X=(-reach, reach),
            bounds_y=(-bound, bound),
            fit_intercept=bool(constant.any()),
            random_state=trial,
        )
    model.fit(features, y)
    coefficients = np.zeros(x.shape[1])
    coefficients[~constant] = np.ravel(model.coef_)
    coefficients[constant] = np.ravel(model.intercept_)[0] if constant.any() else 0.0
    fits.append(coefficients)
np.save(target, np.array(fits))
