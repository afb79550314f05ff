"""Pictures of the ledger."""

import math
from decimal import Decimal

import pandas as pd
import plotly.graph_objects as go

from pmtcore.base.messages import ReportWords
from pmtcore.base.numbers import percent, power_of_ten
from pmtcore.base.numbers import rounded as said
from pmtcore.ledger.log import Account
from pmtcore.methods.facts import Facts
from pmtcore.releases.release import Preview
from pmtcore.report.figures.style import AFTER, BEFORE, PRIVACY, QUIET, SAMPLING, TRUNCATION, finish


def spends(account: Account) -> go.Figure:
    """Draw the total mu after each spend, and the cap."""
    figure, total, totals = go.Figure(), 0.0, []
    for entry in account.entries:
        total = math.hypot(total, entry.counted_mu)
        totals.append(total)
    count = list(range(1, len(totals) + 1))
    figure.add_scatter(
        x=[0, *count],
        y=[0.0, *totals],
        name="spent in all",
        mode="lines+markers",
        line={"color": AFTER, "width": 2.5, "shape": "hv"},
        hovertemplate="after spend %{x}: mu %{y:.3g}<extra></extra>",
    )
    if account.cap is not None:
        line = {"color": BEFORE, "width": 2, "dash": "dash"}
        ends = [0, max(len(totals), 1)]
        figure.add_scatter(x=ends, y=[account.cap] * 2, name="cap", mode="lines", line=line)
    figure.update_xaxes(dtick=1 if len(totals) < 20 else None, gridcolor=QUIET)
    return finish(figure, "spends", "total mu", 300)


def table(account: Account) -> pd.DataFrame:
    """Return one row for each spend."""
    columns = ["at", "method", "mu", "neighbours", "state", "standing", "purpose", "key"]
    return pd.DataFrame([entry.as_dict() for entry in account.entries], columns=columns)


def retrieved(facts: Facts) -> go.Figure:
    """Draw where the planned epsilon of a perturbed objective goes, as one stacked bar."""
    drawn = go.Figure()
    for name, value, colour in _retrieved_parts(facts):
        drawn.add_bar(x=[value], y=["epsilon"], name=name, orientation="h", marker={"color": colour})
    drawn.update_layout(barmode="stack")
    drawn.update_xaxes(range=[0, max(_epsilon(facts, "planned"), 1e-9)])
    return finish(drawn, "epsilon", "", 180).update_layout(legend={"traceorder": "normal"})


def _retrieved_parts(facts: Facts) -> list[tuple[str, float, str]]:
    planned, jacobian, back = (_epsilon(facts, part) for part in ("planned", "jacobian", "retrieved"))
    return [
        ("noise, as planned", max(planned - jacobian - back, 0.0), PRIVACY),
        ("Jacobian", jacobian, TRUNCATION),
        ("retrieved", back, SAMPLING),
    ]


def _epsilon(facts: Facts, name: str) -> float:
    return float(facts.as_dict().get(f"{name}_epsilon", 0.0))


def retrieved_table(facts: Facts) -> pd.DataFrame:
    """Return the same in rows."""
    return pd.DataFrame([(name, value) for name, value, _ in _retrieved_parts(facts)], columns=["part", "epsilon"])


def retrieved_metrics(facts: Facts, recycled: bool) -> dict[str, str]:
    """Return the three parts of the planned epsilon by name, rounded so that they add up to it."""
    planned, jacobian, back = (_written(facts, part) for part in ("planned", "jacobian", "retrieved"))
    return {
        "Spent on noise": f"{planned - jacobian - back:,}",
        "Spent on the Jacobian": f"{jacobian:,}",
        f"Retrieved, {'used for smaller noise' if recycled else 'returned'}": f"{back:,}",
    }


def _written(facts: Facts, part: str) -> Decimal:
    """Return a part of the planned epsilon with the decimals that all parts are written with."""
    sizes = [size for size in (_epsilon(facts, "planned"), 10 * _epsilon(facts, "retrieved")) if size > 0]
    places = max((2 - math.floor(math.log10(size)) for size in sizes), default=0)
    return Decimal(f"{_epsilon(facts, part):.{max(places, 0)}f}")


def bought_words(recycled: Preview, returned: Preview) -> str:
    """Return the sentence on the effect of the retrieved budget, recycled or returned; public."""
    less, plain = recycled.facts.noise_sd, returned.facts.noise_sd
    if not less or not plain or less >= plain:
        return ""
    mu, total = said(recycled.guarantee.mu), said(returned.guarantee.mu)
    return ReportWords.SAVING_USED.sentence(share=percent(1 - less / plain), mu=mu, total=total)


def amount_words(facts: Facts) -> str:
    """Return how much of the planned epsilon comes back."""
    return f"epsilon {_written(facts, 'retrieved'):,} of {_written(facts, 'planned'):,}"


def retrieved_words(facts: Facts) -> str:
    """Return what comes back, in one sentence."""
    back = _epsilon(facts, "retrieved")
    if back <= 0:
        return "Nothing was retrieved: the Jacobian takes all that was planned for it."
    delta = facts.as_dict().get("parts_delta")
    at = f" at delta = {power_of_ten(delta)}" if delta else ""
    return ReportWords.JACOBIAN_NOT_NEEDED.sentence(epsilon=f"{_written(facts, 'planned'):,}{at}")
