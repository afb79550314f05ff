"""``dp-gd``: noisy clipped gradient descent (A, section 6, after Avella-Medina, Bradshaw and Loh 2023).

    beta <- beta - lr (mean clip_c((b' - y) x) + P beta + g),   g ~ N(0, (2 c sqrt(T)/(mu n))^2 I)

T steps from 0, each row's gradient clipped to length c. Neighbours: replace-one. The budget is a total, as in the
paper's own experiments for this method (E20). As published, rows are untransformed. With ``coordinates = whitened``
they are ``S_B^{-1/2} x`` truncated to ``R^2 = d (1 + log(2n/eta))``, as the end of A, section 4 proposes for gradient
methods with a lasso or an elastic net. A lasso term is a proximal step on the released iterate, in the units of the
table: post-processing.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.messages import InputError, MethodMessage, Note, ReleaseNote
from pmtcore.base.private_rows import PrivateRows, RowCache
from pmtcore.glm.families import FAMILIES
from pmtcore.glm.solvers import Proximal
from pmtcore.mechanisms.grid import SLACK, noisy_vector
from pmtcore.mechanisms.integers import FACTOR, IntegerRows, at, integer_pieces
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import papers_radius, truncate_within
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters, choice, failure_probability, parameter, penalty
from pmtcore.methods.registry import Coefficients, IterativePlan, Method, OfPublicData, Origin, sound
from pmtcore.public.moments import PublicData

_LONGEST_STEP = 2.0  # largest step size times curvature; on a quadratic, longer steps diverge


class DescentParameters(Parameters):
    """Public parameters of ``dp-gd``."""

    steps: int = parameter(200, "Steps", "Each step spends its share of the budget.", low=1, high=100_000)
    clip: float = parameter(
        1.0, "Gradient clip", "Each row's gradient is clipped to this length.", low=1e-9, high=1e9, log=True
    )
    rate: float = parameter(0.09, "Learning rate", "Length of a step.", low=1e-9, high=1e6, log=True)
    coordinates: str = choice(
        "Coordinates",
        table="rows as they are",
        whitened="whitened by the public moment and truncated (A, end of section 4)",
    )
    eta: float = failure_probability("Sets the radius that whitened rows are truncated to.")
    lasso: float = penalty(
        "Lasso penalty",
        "On the mean loss, in the units of the table, the intercept left out; with a ridge an elastic net.",
    )


@dataclass(frozen=True)
class DescentPlan(OfPublicData, IterativePlan[RowCache[IntegerRows]]):
    """``dp-gd`` with everything fixed."""

    parameters: DescentParameters

    @property
    def sigma(self) -> float:
        """Return ``2 c sqrt(T)/(mu n)``."""
        return sigma_for(2 * self.parameters.clip / self.n, self.mu / math.sqrt(self.parameters.steps))

    @property
    def root(self) -> np.ndarray | None:
        """Return ``S_B^{-1/2}`` (d, d); ``None`` where rows keep the coordinates of the table."""
        return self.public.symmetric_root[1] if self.parameters.coordinates == "whitened" else None

    @property
    def _ridge(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the root of the coordinates, if any, and the penalty (d, d) in them."""
        root = np.eye(self.public.d) if self.root is None else self.root
        return root, self.public.lam * root @ np.diag(self.public.penalty_shape) @ root

    def prepare(self) -> None:
        """See :class:`Plan`.

        Raises:
            InputError: steps so long that they diverge for any rows.
        """
        rate, curvature = self.parameters.rate, float(np.linalg.eigvalsh(self._ridge[1])[-1])
        if rate * curvature >= _LONGEST_STEP:
            raise InputError(MethodMessage.DIVERGES, limit=_LONGEST_STEP / curvature, given=rate)
        super().prepare()

    @property
    def radius(self) -> float:
        """Return the radius that whitened rows are truncated to."""
        return papers_radius(self.public.d, self.n, self.parameters.eta)

    @property
    def n_passes(self) -> int:
        """Return the number of passes: one for each step."""
        return self.parameters.steps

    def prepared(self, rows: PrivateRows) -> RowCache[IntegerRows]:
        """Return the rows as integer directions and lengths, private."""
        root = self.root
        if root is None:
            return integer_pieces(rows, IntegerRows.of_any_length)
        return integer_pieces(
            rows, lambda x, y: IntegerRows.of_any_length(truncate_within(row_products(x, root), self.radius), y)
        )

    def release(self, prepared: RowCache[IntegerRows], source: NoiseSource, trials: int) -> Coefficients:
        """Return the last iterates, all trials at once.

        Guarantee: T Gaussian mechanisms at ``mu/sqrt(T)`` each, together mu-GDP under replace-one, for the bits that
        leave (proofs/noise.md, 14; proofs/integers.md, 19).
        """
        public, p = self.public, self.parameters
        theta, unit = np.zeros((trials, public.d)), p.clip / FACTOR**2 / self.n
        root, penalty = self._ridge
        proximal = Proximal.of(root, p.lasso * p.rate * public.penalized)
        for _ in range(p.steps):
            total = at(prepared, partial(self._clipped, theta))
            noisy = noisy_vector(total, (1 + SLACK) * self.sigma / unit, source, trials)
            theta = proximal.step(theta - p.rate * (noisy * unit + theta @ penalty))
        return Coefficients(proximal.table(theta), Note(ReleaseNote.NO_BANDS))

    def _clipped(self, theta: np.ndarray, rows: IntegerRows) -> np.ndarray:
        """Return sums of clipped gradients (t, d), integers."""
        return rows.scores(self.public.family, theta, self.parameters.clip, clipped=True)

    def parts(self) -> tuple[Spend, ...]:
        """Return one clipped gradient for each step."""
        return (
            Spend.gaussian("clipped gradient", 2 * self.parameters.clip / self.n, self.sigma, self.parameters.steps),
        )

    def facts(self) -> Facts:
        """Return the noise of each step, and the radius of whitened rows."""
        radius = None if self.root is None else self.radius
        public = self.public
        return Facts(radius=radius, noise_sd=self.sigma, penalty=public.stated_penalty, prior_sd=public.prior_sd)


@Method(
    id="dp-gd",
    title="Noisy gradient descent",
    summary="Clipped gradients of untransformed rows with noise at every step.",
    origin=Origin("A, section 6; Avella-Medina et al. 2023", names=("DP-GD",), errata=("E20",)),
    claim=sound("T Gaussian mechanisms on clipped gradients", "integers"),
    behind_public_fit=("poisson",),
    has_floor=("logistic", "poisson"),
    colour="#F0E442",
    families=tuple(FAMILIES),
    task="any",
    needs_labels=False,
)
def _plan(public: PublicData, n: int, budget: Budget, parameters: DescentParameters) -> DescentPlan:
    return DescentPlan(public, n, budget.mu, parameters)
