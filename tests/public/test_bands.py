"""Parts of an error and what their limits say do not depend on the unit of a coefficient."""

import numpy as np
import pytest

from pmtcore.public.bands import ErrorPart, bias_part, limits, robust_part, satterthwaite

# From near the smallest number whose square is one, to near the largest of which a square still is.
UNITS = [10.0**k for k in (-150, -120, -80, -10, 0, 10, 80, 120, 150)]
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((60, 4)) * [1.0, 3.0, 0.0, 1e-3]
GROUPS = np.arange(60) % 12


def parts(unit: float) -> dict[str, ErrorPart]:
    """Return parts as methods make them, of coefficients in this unit."""
    rows = unit * ROWS
    sampling, grouped = robust_part(rows, 1.0, 500), robust_part(rows, 1.0, 500, GROUPS)
    noise = ErrorPart(np.full(4, 1e-4) * unit**2)
    return {
        "sampling": sampling,
        "grouped": grouped,
        "noise": noise,
        "borrowed": noise.plus(sampling),
        "of nothing": ErrorPart(np.zeros(4), 7.0).plus(ErrorPart(np.zeros(4))),
        "wider": sampling.with_variance(4 * sampling.variance),
        "bias": bias_part(rows),
        "from nothing": ErrorPart.of(np.zeros((4, 4))).with_variance(np.full(4, 1e4) * unit**2),
    }


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit:.0e}")
@pytest.mark.parametrize("name", list(parts(1.0)))
def test_a_part_is_the_same_in_every_unit(name: str, unit: float) -> None:
    """Standard errors are multiplied by the unit; degrees of freedom stay; nothing overflows, warns or vanishes."""
    plain, other = parts(1.0)[name], parts(unit)[name]
    assert np.allclose(other.sd / unit, plain.sd, rtol=1e-9, atol=0)
    assert np.allclose(other.freedom, plain.freedom, rtol=1e-6)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: f"{unit:.0e}")
def test_limits_are_the_same_in_every_unit(unit: float) -> None:
    """So are the limits of all parts together, with their degrees of freedom."""

    def of(unit: float) -> tuple[np.ndarray, np.ndarray]:
        made = parts(unit)
        both = limits(np.zeros(4), made["borrowed"], made["grouped"], made["bias"])
        return (both.high - both.low) / unit, np.asarray(both.freedom)

    assert all(np.allclose(mine, plain, rtol=1e-6, atol=0) for mine, plain in zip(of(unit), of(1.0), strict=True))


def test_degrees_of_freedom_are_those_of_satterthwaite() -> None:
    """``total^2 / sum(variance^2 / freedom)``; a part that is known adds none, and what is known has very many."""
    assert np.allclose(
        satterthwaite(ErrorPart(np.array([1.0]), 5.0), ErrorPart(np.array([2.0]), 9.0)),
        9 / (1 / 5 + 4 / 9),
    )
    assert np.allclose(satterthwaite(ErrorPart(np.array([1.0]), 5.0), ErrorPart(np.array([1.0]))), 20.0)
    assert np.all(satterthwaite(ErrorPart(np.array([1.0, 0.0]))) >= 1e9)
    assert np.all(satterthwaite(ErrorPart(np.array([np.inf, 1.0]), 5.0)) >= [1e9, 5.0])
