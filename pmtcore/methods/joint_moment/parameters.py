"""Public parameters of ``joint-moment``."""

from __future__ import annotations

from pmtcore.methods.parameters import Parameters, choice, parameter, radius_purpose, small_budgets, truncation_radius


class MomentParameters(Parameters):
    """Public parameters of ``joint-moment``."""

    radius_mode: str = radius_purpose("predicted error of a typical regression")
    radius: float = truncation_radius()
    weights: str = choice(
        "Column weights",
        tails="directions in which public rows reach far count less in the radius and get more noise",
        none="all whitened directions count alike",
    )
    important: str = parameter(
        "",
        "Columns that matter most",
        "Names separated by semicolons: regressions of these columns get less noise, all others more, by as much "
        "as makes the predicted error of the former least.",
    )
    derived: str = parameter(
        "",
        "Derived columns",
        "Declared by name, separated by semicolons: log(a); square(b); a:b; spline(c, 4). Constants and knots "
        "come from public rows.",
    )
    public_rows: str = parameter(
        "no",
        "Public rows in the record",
        "What the bands need of the public rows. no: only their fourth moments; yes: at most 2000 of the "
        "rows themselves, readable by anybody who has the record. Logistic regressions need them. auto: "
        "as yes.",
        choices=("no", "yes", "auto"),
    )
    shrinkage: str = small_budgets(
        "combine the released moment with the public one by precision", none="use it as it is"
    )
