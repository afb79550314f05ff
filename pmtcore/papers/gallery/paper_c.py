"""Figures 1 to 7 of paper C: its four algorithms as printed, and repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from pmtcore.papers.gallery.checks import alike_at_end, all_below, slope_across, slope_near
from pmtcore.papers.gallery.claims import Check, Claim, Statistic, not_drawn
from pmtcore.papers.gallery.engine import Figure, FigureChoices, Run, at_epsilon
from pmtcore.papers.gallery.paper_a import AVERAGES
from pmtcore.papers.gallery.series import TEXTS

_EPSILONS = (2.0, 3.0, 5.0, 10.0)  # C, section 6
_SIZES = tuple(10_000 * k for k in range(1, 30, 2))  # the paper's fifteen
_OUR_SIZES = _SIZES[::7]  # the first, the middle and the last
_DIMENSIONS = (5, 10, 12, 15)  # the four of the figure
_DIMENSION_SIZES = tuple(10_000 * k for k in range(10, 49, 2))  # the paper's twenty
_PUBLIC = tuple(20_000 * k for k in range(1, 9))  # the paper's eight
_ROWS_OF_COVERTYPE = tuple(10_000 * k for k in range(1, 40))  # the paper's thirty-nine
_ROWS_OF_SUSY = tuple(10_000 * k for k in range(1, 34, 2))  # the paper's seventeen
_COUNTS = {"bernoulli": 10.0, "turned": 50.0, "identity": 50.0}  # bounds that hardly any count passes there
_IDENTITY = ", identity covariance"
_WHICH_NOISE = TEXTS["which_noise"]
_WHICH_BOUND = TEXTS["which_bound"]
_POOLED = TEXTS["pooled"]
_WHICH_COVARIANCE = "; and which covariance is meant by a random orthogonal matrix, Q: Q'DQ, or the identity"
_TURNED = (
    " The paper's covariance is a random orthogonal matrix. Drawn are Q'DQ with D from U(0, 1) and Q random, and the "
    "identity, which is the only covariance that is itself orthogonal."
)
Series = tuple[tuple[str, str, Mapping[str, Any]], ...]


def _id(design: str, target: str) -> str:
    return ("ldp-nlr" if target == "cubic" else "ldp-glm") + ("" if design == "bernoulli" else "-gaussian")


def _series(design: str, target: str) -> Series:
    """Return the algorithm as printed and repaired; counts with the bound that is stated and with one that holds.

    The listing clips nothing, so as printed counts enter as they are.
    """
    id, end = _id(design, target), _IDENTITY * (design == "identity")
    if target == "poisson":
        as_they_are = {"response_bound": 1.0, "responses": "as they are"}
        return (
            (f"as printed, noise for |y| <= 1{end}", f"{id}-printed", as_they_are),
            (f"repaired, noise for |y| <= 1{end}", id, as_they_are),
            (f"repaired, |y| <= 1{end}", id, {"response_bound": 1.0}),
            (f"repaired, y <= {_COUNTS[design]:g}{end}", id, {"response_bound": _COUNTS[design]}),
        )
    return (("as printed", f"{id}-printed", {}), ("repaired", id, {}))


def _designs(design: str) -> tuple[str, ...]:
    """Return the designs that are drawn for one: two where the paper's covariance can be read in two ways."""
    return ("turned", "identity") if design == "turned" else (design,)


def _run(x: float | tuple[float, ...] | None, design: str, target: str, series: Series, **setting: object) -> Run:
    every = {"design": design, "target": target, "series": series, "largest": design == "bernoulli", **setting}
    return Run(x, "local:trial", {**every, "methods": [id for _, id, _ in series]})


def _claims(words: str, check: Callable[[str, Statistic], Check], design: str, target: str) -> Claim:
    """Return a sentence of the paper with a reading for each form of its algorithm, by the average and the median.

    The paper has the average, in which trials whose scale equation has no root have no part, of what it prints.
    """
    unstated = _WHICH_NOISE + (_WHICH_BOUND if target == "poisson" else "")
    drawn = [_series(each, target) for each in _designs(design)]
    readings = {
        f"{name}, {how}": check(name, statistic)
        for series in drawn
        for name, _, _ in series
        for how, statistic in AVERAGES.items()
    }
    stated = tuple(f"{series[0][0]}, average" for series in drawn)
    return Claim(words, unstated=unstated + _WHICH_COVARIANCE * (len(drawn) > 1), readings=readings, stated=stated)


def _figure(id: str, title: str, runs: Iterable[Run], claims: Iterable[Claim], **more: Unpack[FigureChoices]) -> Figure:
    """Return a figure of paper C: what differs from its other figures is said in ``more``."""
    alike: FigureChoices = {"trials": 100, "quick": 2, "x_label": "private rows n", "log_x": True, "notes": _POOLED}
    source = f"C, Figure {id[1]}"
    return Figure(id=id, title=title, source=source, runs=tuple(runs), claims=tuple(claims), **(alike | more))


def _error_label(design: str) -> str:
    return f"squared relative error, {'l_inf' if design == 'bernoulli' else 'l2'}"


def _slope(epsilon: float, value: float, tolerance: float = 0.2) -> Callable[[str, Statistic], Check]:
    """Return the check of a series' slope at one epsilon."""
    return lambda name, statistic: slope_near(at_epsilon(name, epsilon), value, tolerance, statistic)


def _by_privacy(id: str, title: str, design: str, target: str, *, ours: bool = False) -> Figure:
    drawn = {each: _series(each, target) for each in _designs(design)}
    names = [name for series in drawn.values() for name, _, _ in series]

    def claims() -> Iterator[Claim]:
        for e in _EPSILONS:
            words = f"Squared relative error is proportional to 1/n at epsilon = {e:g}."
            yield _claims(words, _slope(e, -1.0), design, target)
        words = "Squared relative error is proportional to 1/epsilon^2 (at the largest n)."
        named = {name: {e: at_epsilon(name, e) for e in _EPSILONS} for name in names}

        def across(name: str, statistic: Statistic) -> Check:
            return slope_across(named[name], -2.0, 0.4, statistic)

        yield _claims(words, across, design, target)
        if ours:
            pair = [("ldp-whitened, eps = 2", "repaired, eps = 2"), ("ldp-whitened, eps = 2", "as printed, eps = 2")]
            words = "At epsilon = 2 the local whitened score errs less than the algorithm as printed and as repaired."
            yield Claim(words, all_below(pair, "median"), ours=True)
            rate = slope_near("ldp-whitened, eps = 2", -1.0)
            words = "The squared error of the local whitened score is proportional to 1/n at epsilon = 2."
            yield Claim(words, rate, ours=True)

    def run(rows: str, series: Series, sizes: Sequence[int], epsilons: Sequence[float]) -> Run:
        return _run(tuple(sizes), rows, target, series, p=10, sizes=[(n, n) for n in sizes], epsilons=epsilons)

    our_run = (run(design, (("ldp-whitened", "ldp-whitened", {}),), _OUR_SIZES, _EPSILONS[:1]),)
    runs = (*(run(rows, series, _SIZES, _EPSILONS) for rows, series in drawn.items()), *(our_run if ours else ()))
    return _figure(
        id,
        title,
        runs,
        claims(),
        y_label=_error_label(design),
        notes=_POOLED
        + (_TURNED + TEXTS["moment_noise"]) * (design == "turned")
        + TEXTS["cubic_signal"] * (target == "cubic"),
    )


def _by_dimension(id: str, title: str, design: str, target: str) -> Figure:
    drawn = {each: _series(each, target) for each in _designs(design)}

    def across(name: str, statistic: Statistic) -> Check:
        named = {float(p): at_epsilon(f"{name}, p = {p}", 10.0) for p in _DIMENSIONS}
        return slope_across(named, None, 0.0, statistic)

    def falling(p: int) -> Callable[[str, Statistic], Check]:
        return lambda name, statistic: _slope(10.0, -1.0)(f"{name}, p = {p}", statistic)

    words = "Squared relative error is proportional to 1/n at p = {}."
    return _figure(
        id,
        title,
        (
            _run(
                _DIMENSION_SIZES,
                rows,
                target,
                tuple((f"{name}, p = {p}", method, values) for name, method, values in series),
                p=p,
                sizes=[(n, n) for n in _DIMENSION_SIZES],
                epsilons=(10.0,),
            )
            for rows, series in drawn.items()
            for p in _DIMENSIONS
        ),
        (
            *(_claims(words.format(p), falling(p), design, target) for p in _DIMENSIONS),
            _claims("The error grows with the dimension (at the largest n).", across, design, target),
        ),
        y_label=_error_label(design),
        notes=_POOLED + (_TURNED if design == "turned" else ""),
    )


def _by_public(id: str, target: str, claims: tuple[Claim, ...]) -> Figure:
    setting = {"p": 10, "sizes": [(200_000, m) for m in _PUBLIC], "epsilons": (3.0, 5.0, 10.0), "power": 1.0}
    run = _run(_PUBLIC, "bernoulli", target, _series("bernoulli", target), squared=False, **setting)
    labels: FigureChoices = {"x_label": "public rows m", "y_label": "relative error, l_inf"}
    return _figure(id, f"Public rows, {target}", [run], claims, **labels)


def _few_suffice() -> tuple[Claim, ...]:
    """Return the claim that few rows suffice, which the paper makes of 7(a) alone, with 'sometimes'."""
    words = "Sometimes few public rows suffice, as 7(a) shows: at epsilon = {:g} the error hardly depends on m."
    return tuple(_claims(words.format(e), _slope(e, 0.0, 0.1), "bernoulli", "logistic") for e in (3.0, 5.0, 10.0))


def _accuracy(
    id: str, title: str, table: str, sizes: Sequence[int], *, setting: Mapping[str, Any], notes: str
) -> Figure:
    series = (
        ("Algorithm 1 as printed", "ldp-glm-gaussian-printed", "columns"),
        ("Algorithm 1 repaired", "ldp-glm-gaussian", "columns"),
        ("Algorithm 2 repaired, rows of length 1", "ldp-glm", "rows"),
    )
    ours = (("ldp-whitened", "ldp-whitened", "columns"),)
    references = ("always the larger class", "without privacy")
    compared = [name for name, _, _ in series]
    enough = (
        "what 'a reasonable value' of epsilon and 'large enough' are; which of the algorithms, how the data are "
        "normalized, and which columns are left out; and " + _WHICH_NOISE
    )

    def run(sizes: Sequence[int], series: Sequence[tuple[str, str, str]], **more: object) -> Run:
        drawn = {"table": table, "sizes": sizes, "epsilons": (5.0, 10.0, 20.0), "series": series, **setting, **more}
        return Run(tuple(sizes), "accuracy:accuracy_trial", drawn | {"methods": [id for _, id, _ in series]})

    return _figure(
        id,
        title,
        (run(sizes, series, references=references), run((sizes[0], sizes[len(sizes) // 2], sizes[-1]), ours)),
        (
            Claim(
                "At a reasonable epsilon and with enough rows the performance approaches that without privacy.",
                unstated=enough,
                readings={
                    f"{name}, epsilon = {e}, {words}": alike_at_end(at_epsilon(name, e), "without privacy", factor)
                    for name in compared
                    for e in (5, 20)
                    for words, factor in (("within 5 %", 1.05), ("within a fifth", 1.2))
                }
                | {"with another normalization": not_drawn("not in this figure")},
            ),
            Claim(
                "The local whitened score is more accurate than the algorithms, as printed and repaired, at three n.",
                all_below(
                    [(at_epsilon(name, e), at_epsilon("ldp-whitened", e)) for name in compared for e in (5, 10, 20)]
                ),
                ours=True,
            ),
        ),
        trials=1000,
        quick=1,
        log_x=False,
        y_label="accuracy on the test rows",
        log_y=False,
        needs=table,
        notes=notes,
        errata=("E23",),
    )


FIGURES = [
    _by_privacy("C1", "Logistic, Gaussian rows, diagonal", "diagonal", "logistic", ours=True),
    _by_privacy("C1b", "Poisson, Gaussian rows, random covariance", "turned", "poisson"),
    _by_dimension("C2", "Logistic by dimension", "diagonal", "logistic"),
    _by_dimension("C2b", "Poisson by dimension", "turned", "poisson"),
    _by_dimension("C3b", "Logistic, Bernoulli rows, by dimension", "bernoulli", "logistic"),
    _by_dimension("C4b", "Poisson, Bernoulli rows, by dimension", "bernoulli", "poisson"),
    _by_dimension("C5b", "Cubic regression, Bernoulli rows, by dimension", "bernoulli", "cubic"),
    _by_privacy("C3", "Logistic, Bernoulli rows", "bernoulli", "logistic", ours=True),
    _by_privacy("C4", "Poisson, Bernoulli rows", "bernoulli", "poisson"),
    _by_privacy("C5", "Cubic regression, Bernoulli rows", "bernoulli", "cubic"),
    _accuracy(
        "C6",
        "Covertype, type 2 or not",
        "covertype",
        _ROWS_OF_COVERTYPE,
        setting={},
        notes="z-scores of all columns, a column of ones, a public ridge of 0.001 in place of removing columns. "
        "Private rows are the first n training rows, public ones the last n; above n = 203,354 they overlap. "
        "The noise of Algorithm 1 is far above the moments of the rows: its coefficients have a random direction and "
        "classify half of the rows on average, fewer than the larger class has.",
    ),
    _accuracy(
        "C6b",
        "SUSY, signal or background",
        "susy",
        _ROWS_OF_SUSY,
        setting={"train_rows": 350_000, "rows_used": 500_000, "label": 1.0},
        notes="500,000 rows drawn anew in each trial; z-scores, a column of ones, a public ridge of 0.001.",
    ),
    _by_public("C7", "logistic", _few_suffice()),
    _by_public("C7b", "cubic", ()),
]
