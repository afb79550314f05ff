"""Numbers as people write them: 2,050 and not 2.05e+03; never "inf" or "nan" in a sentence."""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date

# From here on a figure is written with a power of ten: nobody counts the groups of zeros of 178,000,000.
_LARGEST_WRITTEN_OUT = 1e7
# Below this a figure would have too many zeros and is written with a power of ten.
_SMALLEST_WRITTEN_OUT = 1e-4
# A space that allows no line break.
UNBREAKABLE = "\u00a0"
# A per cent sign behind its number; a symbol or a sign before its number, which may be below zero or in parentheses.
_SYMBOLS = "mu|rho|epsilon|delta|lambda|gamma|kappa|df|n|p|F|T"
_INSIDE_AMOUNTS = re.compile(
    rf"(?<=\d) %|\b(?:{_SYMBOLS}|F\([^()]*\)) [=<>≤≥] (?=[-(]?[\d.])|(?<=[±≤≥]) (?=\d)|\bε (?=\d)"
)
# Below this a p-value says nothing more: no normal approximation holds that far out.
_LEAST_P_VALUE = 1e-12
# Distances from 1 between which a ratio would be written as 1 with four digits, and is not 1.
_ROUNDING, _NEXT_TO_ONE = 1e-9, 5e-3


def written_number(text: str) -> float:
    """Read a number that somebody wrote.

    >>> written_number("1e-6")
    1e-06

    Raises:
        ValueError: no number, or one so small that it would be read as zero.
    """
    value = float(text)
    if value == 0 and any(digit in text.lower().partition("e")[0] for digit in "123456789"):
        raise ValueError(text)
    return value


def count(value: float) -> str:
    """Write a whole number with thousands separators.

    >>> count(31561)
    '31,561'
    """
    return f"{round(value):,}"


def rounded(value: float | None, digits: int = 3) -> str:
    """Write a figure rounded to significant digits.

    >>> rounded(2049.6), rounded(0.00984), rounded(1.0), rounded(3e-9), rounded(float("inf")), rounded(float("nan"))
    ('2,050', '0.00984', '1', '3e-9', 'infinite', 'unknown')
    """
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    if not _SMALLEST_WRITTEN_OUT <= abs(value) < _LARGEST_WRITTEN_OUT:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{float(mantissa):g}e{int(power)}"
    nearest = float(f"{value:.{digits}g}")
    places = max(digits - 1 - math.floor(math.log10(abs(nearest))), 0)
    text = f"{nearest:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_equal_decimals(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write a value and its limits with one number of decimals: two digits of half the width count.

    >>> with_equal_decimals(0.39, 0.33, 0.449), with_equal_decimals(2050.0, 1980.2, 2119.0)
    (('0.390', '0.330', '0.449'), ('2,050', '1,980', '2,119'))
    >>> with_equal_decimals(1.0, 1.0, 1.0), with_equal_decimals(-0.003, -0.15, 0.14)
    (('1', '1', '1'), ('0.00', '-0.15', '0.14'))
    """
    three, half = (value, low, high), abs(high - low) / 2
    if not (half > 0 and all(_SMALLEST_WRITTEN_OUT <= abs(one) < _LARGEST_WRITTEN_OUT for one in (*three, half))):
        return rounded(value), rounded(low), rounded(high)
    places = max(1 - math.floor(math.log10(half)), 0)
    # "z": what rounds to zero has no sign.
    return f"{value:z,.{places}f}", f"{low:z,.{places}f}", f"{high:z,.{places}f}"


def digits_in_columns(values: Iterable[float]) -> int:
    """Return the number of significant digits of a column: four, or as many as distinguish a ratio close to 1 from 1.

    >>> digits_in_columns([0.9999855, 1.0, 2.0]), digits_in_columns([1.2, 3.0]), digits_in_columns([])
    (7, 4, 4)
    """
    distances = [abs(value - 1) for value in values]
    nearest = min((distance for distance in distances if _ROUNDING < distance < _NEXT_TO_ONE), default=1.0)
    return 4 if nearest == 1 else 2 - math.floor(math.log10(nearest))


def percent(share: float, digits: int = 2) -> str:
    """Write a share in per cent.

    A share that is small but not zero never reads as zero, and one below 1 never reads as 100 %.

    >>> percent(0.0), percent(0.034), percent(2e-7), percent(0.99999), percent(1.0)
    ('0 %', '3.4 %', 'less than 0.01 %', 'more than 99.99 %', '100 %')
    """
    if math.isnan(share):
        return "an unknown share"
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    if 0.9999 < share < 1:
        return "more than 99.99 %"
    text = rounded(100 * share, digits)
    return f"{rounded(100 * share, 4) if text == '100' and share < 1 else text} %"


def unbroken(text: str) -> str:
    r"""Put spaces that allow no line break inside of amounts: between a number and its per cent sign or symbol.

    >>> unbroken("5 % of 20 rows, mu = 1 and ± 0.3")
    '5\xa0% of 20 rows, mu\xa0=\xa01 and ±\xa00.3'
    """
    return _INSIDE_AMOUNTS.sub(lambda amount: amount[0].replace(" ", UNBREAKABLE), text)


def p_value(p: float) -> str:
    """Write a p-value with three significant digits, never as zero.

    >>> p_value(0.03121), p_value(2e-7), p_value(0.0), p_value(float("nan"))
    ('0.0312', '2e-7', '< 1e-12', 'unknown')
    """
    return f"< {power_of_ten(_LEAST_P_VALUE)}" if p < _LEAST_P_VALUE else rounded(p)


def p_equation(p: float | str) -> str:
    """Return a p-value, or the text of one, after its symbol.

    >>> p_equation(0.03121), p_equation(0.0)
    ('p = 0.0312', 'p < 1e-12')
    """
    text = p if isinstance(p, str) else p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def power_of_ten(delta: float) -> str:
    """Write a small number, such as a delta, with a power of ten.

    >>> power_of_ten(1e-05), power_of_ten(0.0)
    ('1e-5', '0')
    """
    mantissa, _, power = f"{delta:g}".partition("e")
    return f"{mantissa}e{int(power)}" if power else mantissa


def date_of_day(days: float) -> str:
    """Write the date of a number of days since 1970-01-01; the number itself beyond the years that a calendar has.

    >>> date_of_day(18262.5), date_of_day(1e9)
    ('2020-01-01', '1e9')
    """
    try:
        return str(date.fromordinal(date(1970, 1, 1).toordinal() + math.floor(days)))
    except (ValueError, OverflowError):
        return rounded(days)


def plural(many: int, one: str, several: str = "") -> str:
    """Write a number with its noun.

    >>> plural(1, "release"), plural(0, "row"), plural(2000, "row")
    ('1 release', 'no row', '2,000 rows')
    """
    if many == 0:
        return f"no {one}"
    return f"{count(many)} {one if many == 1 else several or one + 's'}"


def join_names(items: Sequence[str]) -> str:
    """Join names for a sentence.

    >>> join_names(["a"]), join_names(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "nothing"
