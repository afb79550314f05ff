"""The parts of the Explore page: the question, its answer, the list of models, the whole in pictures."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import scripts
from pages.elements.controls import at_first, control, pick, segments
from pages.elements.explore_release import columns_unlike_public, completed, confirming, made_here
from pages.elements.jobs import FOCUS
from pages.elements.released import is_of_other_table
from pages.elements.widgets import (
    PLAIN,
    badge,
    below,
    chart,
    download_table,
    errors_shown,
    figure_first,
    frame,
    later,
    number,
)
from pages.elements.workflow_state import another_table
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.explore.logistic import Logistic
from pmtcore.explore.moment import Moment
from pmtcore.explore.regression import Regression
from pmtcore.releases.record import modelled
from pmtcore.report.figures import explore as figures
from pmtcore.report.rows import MOST_COLUMNS
from pmtcore.report.rows import source as source_column
from pmtcore.report.sheet import csv
from pmtcore.report.words import date_columns, modelled_levels, reference_levels

_KEY, _RECORDS, _CLICKS, _WITHOUT = "explore-held", "explore-records", "explore-clicks", "explore-without"
_EPOCH = date(1970, 1, 1).toordinal()
_REFERENCE = "the reference level"
_FEATURES = "The columns that explain it: any of them, at no further cost."
_WORDS = {
    "none": "a model chosen beforehand",
    "bonferroni": "all models compared (Bonferroni)",
    "scheffe": "every contrast of one response (Scheffé)",
}


@dataclass(slots=True)
class Held:
    """An open record, and what was done with it; public and released figures only."""

    moment: Moment
    title: str
    names: dict[str, str] = field(default_factory=dict)
    pinned: list[str] = field(default_factory=list)
    features: dict[str, list[str]] = field(default_factory=dict)  # chosen last, by response
    latest: list[str] = field(default_factory=list)  # chosen last, of whatever response
    logistics: dict[tuple[str, tuple[str, ...]], Logistic] = field(default_factory=dict)  # by response and names
    with_rows: Moment | None = None  # the same with public rows, which are on this machine and in no saved record
    references: dict[str, str] = field(default_factory=dict)  # level without a column of its own, by source column
    modelled: dict[str, str] = field(default_factory=dict)  # level that counts as 1, by label
    dates: frozenset[str] = frozenset()  # columns that count days

    @property
    def label(self) -> Label:
        """Return the kind of its figures."""
        return self.moment.label

    @property
    def pins(self) -> dict[str, Regression]:
        """Return the pinned models by what they are called."""
        named = figures.called(self.moment.looked, self.names)
        every = {figures.key_of(fit): fit for fit in self.moment.looked}
        return {named[key]: every[key] for key in every if key in self.pinned}

    def event(self, response: str) -> str:
        """Return what a label says where it is 1; empty for a number."""
        return figures.event(response, self.modelled) if response in self.moment.labels else ""

    def logistic(self, fit: Regression) -> Logistic:
        """Return the logistic regression beside a linear one, computed once."""
        key = fit.response, fit.names
        if key not in self.logistics:
            moment = self.with_rows or self.moment
            self.logistics[key] = moment.logistic(response=fit.response, features=list(fit.names[1:]))
        return self.logistics[key]


def opened() -> Held | None:
    """Return the record that is open."""
    record: Held | None = st.session_state.get(_KEY)
    return record


def pinned_answers(record: Mapping[str, Any]) -> str:
    """Return the models pinned of a release's moment in this session, as a part of its report; empty without any.

    Args:
        record: of a release, in plain fields.
    """
    digest = str(record["released"].get("joint_moment", {}).get("digest", ""))
    asked: Held | None = st.session_state.get(_RECORDS, {}).get(digest)
    return "" if asked is None else figures.answers(asked.pins, asked.moment)


def take_up(moment: Moment, title: str, notes: Sequence[str] = ()) -> None:
    """Open a record; one that was open before in this session comes back with its models and their count.

    Args:
        moment: the record.
        title: what it is of.
        notes: of its release, which name the levels that categories are compared with.
    """
    records: dict[str, Held] = st.session_state.setdefault(_RECORDS, {})
    st.session_state[_KEY] = records.setdefault(
        str(moment.record.as_dict()["digest"]),
        Held(
            moment,
            title,
            references=reference_levels(notes),
            modelled=modelled_levels(notes),
            dates=date_columns(notes),
        ),
    )
    st.session_state.pop("explore-response", None)
    st.session_state[FOCUS] = True


def page(here: Held) -> None:
    """Draw the question, and the answer of the kind that is chosen below it."""
    with figure_first("explore"):
        head(here)
        fit = question(here)
        if fit is None:
            return
        answers(here, fit)
    models(here, fit)


def head(here: Held) -> None:
    """Draw what is open, and how to take it along."""
    left, middle, right = st.columns([5.6, 1.5, 1], vertical_alignment="center")
    # The button that opened it is gone: what it opened takes the keyboard, from its top.
    with left, st.container(key="verdict"):
        if st.session_state.pop(FOCUS, False):
            scripts.run(scripts.TO_VERDICT)
        st.caption(f"{badge(here.label)} **{plain(here.title)}**: {plain(figures.record_words(here.moment))}")
        id = made_here(here.moment)
        if id is not None and is_of_other_table(id):
            st.warning("Another table is open now: Close leads to a release from it.", icon=":material/swap_horiz:")
        unlike = columns_unlike_public(here.moment)
        if unlike is not None:
            st.warning(plain(figures.unlike_words(unlike)), icon=":material/warning:")
    saved = later(middle, "save")
    if here.with_rows is not None:
        saved = saved.popover(**control("explore-save-choices"))
    rows_too = here.with_rows is not None and saved.toggle(**control("explore-complete"))
    moment = here.with_rows if rows_too and here.with_rows is not None else here.moment
    saved.download_button(**control("explore-save"), data=lambda: json.dumps(moment.record.as_dict()))
    with later(middle, "another"):
        another_table()
    if later(right, "close").button(**control("explore-close")):
        st.session_state.pop(_KEY)
        st.rerun()


def question(here: Held) -> Regression | None:
    """Draw response and features to click on; return the regression."""
    moment = here.moment
    left, middle, right = st.columns([2, 6, 1.6], vertical_alignment="bottom")
    options = figures.responses(moment)
    start = options.index(moment.record.target) if moment.record.target in options else 0
    response = left.selectbox(**control("explore-response"), options=options, index=start)
    levels = figures.by_source([name for name in moment.columns if name != response])
    choice = list(levels)
    latest = [name for name in here.latest if name in choice]  # another response keeps the model's columns
    first = here.features.get(response) or latest or figures.first_columns(moment, response)
    key = f"explore-features-{response}"
    settings: dict[str, Any] = {"key": key, "help": _FEATURES, **at_first(key, default=first or choice)}
    if len(choice) <= MOST_COLUMNS:
        chosen = middle.pills("Features", choice, format_func=plain, selection_mode="multi", wrap=True, **settings)
    else:
        chosen = middle.multiselect("Features", choice, **settings)
    here.latest = here.features[response] = chosen = [name for name in choice if name in chosen]
    with right.popover(**control("explore-choices")):
        st.button(**control("explore-clear"), disabled=not chosen, on_click=_clear, args=(key, chosen[:1]))
        lam = number(st, "explore-ridge", 0.0, 1e9, start=0.0)
        correction = pick(st, "explore-correction", _WORDS)
        without = _without(levels, chosen)
    told = [figures.left_out_words([*choice, *without], chosen)]
    told += [f"Ridge penalty {lam:g}."] * (lam > 0) + [f"Bands are for {_WORDS[correction]}."] * (correction != "none")
    if any(told):
        st.caption(plain(" ".join(sentence for sentence in told if sentence)))
    with errors_shown():
        features = [name for column in chosen for name in levels[column] if name not in without]
        return moment.regress(response=response, features=features, ridge=float(lam))
    return None


def _without(levels: Mapping[str, list[str]], chosen: Sequence[str]) -> list[str]:
    """Draw which levels of the chosen columns stay out of the model; return them.

    A column that is taken out and put in again comes back with all its levels.
    """
    options = [name for column in chosen if levels[column] != [column] for name in levels[column]]
    st.session_state[_WITHOUT] = [name for name in st.session_state.get(_WITHOUT, []) if name in options]
    without: list[str] = st.multiselect(**control("explore-without"), options=options) if options else []
    return without


def _clear(key: str, first: list[str]) -> None:
    """Leave one feature in the model: the rest is put in by a click each."""
    st.session_state[key] = first


def coefficients(here: Held, fit: Regression) -> None:
    """Draw coefficients with bands, beside all columns that may go in."""
    correction = st.session_state.get("explore-correction") or "none"
    table = figures.table(fit, correction, here.moment.models)
    scales = figures.in_steps(here.moment, fit)
    drawn = figures.drawn(table, scales, fit.freedom if correction == "none" else None) if scales else None
    bases = figures.bases(here.references, here.moment.columns, fit.features)
    example = figures.example_words(here.moment, fit, table, bases, said_of=here.event(fit.response))
    explained = plain(figures.fit_words(fit))
    if words := f"{f'**{explained}** ' if explained else ''}{plain(example)}":
        below(st, "fit").markdown(f"{badge(here.label)} {words}")
    left, right = st.columns([2, 3], gap="medium")
    with left, below(st, "map"):
        st.markdown(f"**Alone:** correlation with {plain(fit.response)}")
        correlations = neighbours(here, fit, () if drawn is None else list(drawn["coefficient"]))
    with right:
        st.markdown("**Together:** coefficients of the model, with 95\u00a0% bands")
        if drawn is not None:
            picture = figures.forest(here.moment, fit, drawn)
            sizes = table["coefficient"].map(figures.comparable(here.moment))
            with_sizes = table.assign(**{"step of the picture": sizes})
            chart(picture, "explore", "Coefficients with 95 % bands", with_sizes, label=here.label)
            st.caption(plain(figures.picture_words(here.moment, fit, bases, correction)))
        else:
            frame(table, "Coefficients with 95 % bands")
    title = f"{badge(here.label)} Correlations with {plain(fit.response)}"
    with st.expander(title, icon=":material/table_rows:", key=f"explore-correlations-{fit.response}"):
        frame(correlations, f"Correlations with {fit.response}, with 95 % bands")
    if fit.response in here.moment.labels:
        logistic(here, fit)


def logistic(here: Held, fit: Regression) -> None:
    """Draw the logistic regression of a label, which needs public rows: those of the record, or of the open tables."""
    if not st.toggle(**control("explore-logistic")):
        return
    if here.with_rows is None and not here.moment.has_rows:
        here.with_rows = completed(here.moment)
        if here.with_rows is None:
            st.caption(
                "It uses public rows, and the record has none. Open its tables on Data, in the session that released "
                "it: the public rows are then read on this machine, at no further cost."
            )
            return
        st.rerun()  # what saves the record asks from now on whether they go along
    fitted = here.logistic(fit)
    frame(figures.logistic_table(fitted), "Logistic coefficients with 95 % bands")
    st.caption(plain(f"Log-odds for one unit of each feature. {fitted.note}"))


def neighbours(here: Held, fit: Regression, drawn: Collection[str]) -> pd.DataFrame:
    """Draw every column beside the response; a click on one puts it into the model, or out; return the table.

    Args:
        here: the open record.
        fit: the model.
        drawn: its coefficients that the picture beside this one has.
    """
    picture, table = figures.neighbours(
        here.moment, fit, modelled(fit.response, here.modelled.get(fit.response)), here.references, beside=drawn
    )
    # A new key after each click: the mark that was clicked is no longer selected, and can be clicked again.
    key = f"explore-map-{fit.response}-{st.session_state.get(_CLICKS, 0)}"
    st.plotly_chart(
        picture,
        width="stretch",
        key=key,
        alt=f"Correlation of every column with {fit.response}, with 95 % bands; the list of features above does the "
        "same by keyboard",
        config=PLAIN,
        on_select=lambda: _toggle(key, fit.response, figures.by_source(here.moment.columns)),
        selection_mode="points",
    )
    levels = " One that is the clearest of several levels stands for its column; single levels are under More choices."
    has_levels = len(figures.by_source(here.moment.columns)) < len(here.moment.columns)
    st.caption(f"Click a mark to put its column into the model, or to take it out.{levels if has_levels else ''}")
    return table


def _toggle(map_key: str, response: str, levels: Mapping[str, list[str]]) -> None:
    """Put what was clicked into the model, or take it out: a column, or one level of it.

    Args:
        map_key: of the picture.
        response: of the model.
        levels: by column with levels.
    """
    points = st.session_state[map_key]["selection"]["points"]
    names = [point["customdata"][0] for point in points if point.get("customdata")]
    features = f"explore-features-{response}"
    chosen, without = (list(st.session_state.get(key, [])) for key in (features, _WITHOUT))
    for name in names:
        column = source_column(name)
        if name != column and column in chosen:
            (without.remove if name in without else without.append)(name)
            continue
        (chosen.remove if column in chosen else chosen.append)(column)
        if name != column:
            without += [other for other in levels[column] if other != name]
    if names:
        st.session_state[features], st.session_state[_WITHOUT] = chosen, without
        st.session_state[_CLICKS] = st.session_state.get(_CLICKS, 0) + 1


def models(here: Held, fit: Regression) -> None:
    """Draw the list of models looked at: name, pin, compare."""
    key = figures.key_of(fit)
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    name = left.text_input(**control("explore-name", f"-{key}"), value=here.names.get(key, ""))
    if name:
        here.names[key] = name
    if middle.button(**control("explore-pin"), label="Unpin" if key in here.pinned else "Pin"):
        (here.pinned.remove if key in here.pinned else here.pinned.append)(key)
        st.rerun()
    looked, pinned = here.moment.looked, here.pins
    right.download_button(
        **control("explore-report"),
        data=lambda: figures.section(pinned or {figures.called(looked, here.names)[key]: fit}, here.moment, here.title),
    )
    more = here.moment.models - len(looked)
    st.header(f"Models shown: {len(looked)}{f', and {more:,} more compared by best subsets' if more else ''}")
    frame(figures.listing(looked, here.names, here.pinned), "Models shown, newest first, with their fits")
    if len(pinned) < 2:  # without a click: what a column more or less does to the others
        before = [one for one in looked if one.response == fit.response and figures.key_of(one) != key][-1:]
        pinned = dict(zip(("this model", "the one before"), [fit, *before], strict=False))
        if before:
            st.caption("This model and the one before of the same response; models that you pin take their place.")
    if len(pinned) > 1:
        figure, table = figures.side_by_side(pinned, here.moment)
        chart(figure, "explore-side", "Coefficients of the pinned models side by side", table, label=here.label)
        if words := figures.nested_words(pinned):
            st.markdown(f"{badge(here.label)} {plain(words)}")
        beside = figures.regression_table(pinned)
        st.caption("Value ± half the width of its 95\u00a0% band.")
        frame(beside, "The pinned models as one table, as the report has it")
        download_table(beside, "pinned")


def answers(here: Held, fit: Regression) -> None:
    """Draw the kinds of answers, all free but the second release; only the chosen one is computed."""
    draw = {
        "Coefficients": coefficients,
        "Test and predict": _test,
        "Paths": _paths,
        "Correlations": _correlations,
        "Network": _network,
        "Components": _components,
        "Columns": _columns,
        "Second release": lambda here, fit: confirming(here.moment, fit, here.label),
        "Code": _code,
    }
    draw[segments("explore-more", list(draw), "Coefficients")](here, fit)


def _code(_: Held, fit: Regression) -> None:
    for words, text in figures.code(fit).items():
        st.caption(words)
        st.code(text, language="python" if words == "Python" else "bash")


def _test(here: Held, fit: Regression) -> None:
    """Draw a prediction at values typed in, a joint test of several coefficients, and what each column explains."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        _predict(here, fit)
    offered = figures.tests_offered(fit)
    with right:
        chosen = st.multiselect(**control("explore-test"), options=list(offered))
        if chosen:
            words = figures.joint_test_words(fit, [name for one in chosen for name in offered[one]], here.moment)
            st.markdown(f"{badge(here.label)} {plain(words)}")
        if fit.features:
            st.caption("Test that all effects of a column are zero (F distribution; df: of the error).")
            frame(figures.factor_tests(fit), "Test of all effects of each column")
    if fit.features:
        frame(figures.shares_table(fit), "Partial R² and variance inflation of each feature with 95 % bands")


def _predict(here: Held, fit: Regression) -> None:
    """Draw values of the columns in the model, and what it predicts there: released means to begin with."""
    inputs = here.moment.inputs(fit)
    base = [name for name in here.moment.record.derived.base if name in here.moment.columns and name != fit.response]
    # Of a column with levels all, also those without a coefficient in this model.
    given = [name for levels in figures.by_source(base).values() if inputs & set(levels) for name in levels]
    with st.form("explore-predict"):
        values = _values(here, given)
        st.form_submit_button(**control("explore-predict-go"))
        at, event = here.moment.predict(fit, values), here.event(fit.response)
        st.markdown(f"{badge(here.label)} {plain(figures.predicted_words(fit, at, event))}")
        if event and st.session_state.get("explore-logistic") and (here.with_rows or here.moment).has_rows:
            chance = here.logistic(fit).chance(here.moment.with_derived(values))
            st.markdown(f"{badge(here.label)} {plain(figures.logistic_chance_words(event, chance))}")
    st.caption(
        "Numbers start at the released means, categories at the level that the others are compared with: together "
        "perhaps a rare mixture. Derived columns are computed."
    )


def _values(here: Held, given: list[str]) -> dict[str, float]:
    """Draw a list for each column with levels and a number for each other column; return values by name."""
    means = {row["column"]: row["mean"] for row in here.moment.summary()} if here.moment.has_constant else {}
    columns, values = st.columns(3), dict[str, float]()
    for j, (name, dummies) in enumerate(figures.by_source(given).items()):
        place = columns[j % 3]
        if name in here.dates:
            values[name] = _day(place, name, means.get(name, 0.0))
            continue
        if dummies == [name]:
            start, help = float(f"{means.get(name, 0.0):.4g}"), "Starts at the released mean."
            values[name] = place.number_input(
                plain(name), value=start, format="%g", key=f"explore-at-{name}", help=help, required=True
            )
            continue
        options = {here.references.get(name, _REFERENCE): here.references.get(name, _REFERENCE)}
        options |= {dummy: dummy.removeprefix(f"{name}=") for dummy in dummies}
        level = pick(place, "explore-level", options, at=f"-{name}", label=plain(name))
        values |= {dummy: float(dummy == level) for dummy in dummies}
    return values


def _day(place: DeltaGenerator, name: str, mean: float) -> float:
    """Draw a date; return it as the days since 1970-01-01 that its column counts."""
    first, last = date.min.toordinal() - _EPOCH, date.max.toordinal() - _EPOCH
    start = date.fromordinal(_EPOCH + int(min(max(mean, first), last)))
    chosen = place.date_input(
        plain(name),
        value=start,
        min_value=date.min,
        max_value=date.max,
        key=f"explore-at-{name}",
        help="Starts at the released mean.",
    )
    return float(chosen.toordinal() - _EPOCH)


def _paths(here: Held, fit: Regression) -> None:
    kind = segments("explore-path", ("ridge", "lasso", "best subsets"), "ridge")
    if kind == "best subsets":
        with errors_shown():
            before = here.moment.models
            subsets = here.moment.best_subsets(fit)
            if here.moment.models != before:
                st.rerun()  # what stands above says how many models were compared
            st.markdown(
                f"{badge(here.label)} **{plain(figures.best_subset_words(subsets))}** All subsets were compared and "
                "count, so bands for the chosen one are too narrow. The best columns of each number:"
            )
            frame(figures.subsets_table(subsets), "The best columns of each number")
        return
    ridge = kind == "ridge"
    path = here.moment.ridge_path(fit, figures.comparable(here.moment)) if ridge else here.moment.lasso_path(fit)
    words = "The table says in what share of draws of noise and sampling a feature is chosen."
    if ridge:
        words = figures.ridge_words(here.moment, path)
    alt = f"Coefficients along the {kind} path"
    picture = figures.paths(here.moment, path, fit.response)
    table = figures.path_table(here.moment, path)
    chart(picture, "explore-paths", alt, table, label=here.label, words=words)


def _correlations(here: Held, fit: Regression) -> None:
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    first = figures.first_related(here.moment, fit.response)
    columns = left.multiselect(
        **control("explore-related", default=first), options=list(figures.by_source(here.moment.columns))
    )
    partial = right.toggle(**control("explore-partial"))
    figure, table = figures.heat(here.moment, partial, columns)
    words = f"{figures.heat_words(here.moment, columns)} {figures.chance_words(here.moment)}"
    chart(figure, "explore-heat", "Correlations of all pairs of columns", table, label=here.label, words=words)


def _network(here: Held, _: Regression) -> None:
    figure, table = figures.network(here.moment)
    words = figures.network_words(here.moment, len(table))
    chart(figure, "explore-network", "Network of partial correlations", table, label=here.label, words=words)


def _components(here: Held, _: Regression) -> None:
    figure, table = figures.scree(here.moment)
    alt, words = "Shares of variance of the principal components", figures.components_words(here.moment)
    chart(figure, "explore-scree", alt, table, label=here.label, words=words)
    frame(pd.DataFrame(here.moment.loadings()), "Loadings of the first components with 95 % bands")


def _columns(here: Held, fit: Regression) -> None:
    """Draw means and spreads, group means, synthetic rows."""
    frame(figures.summary_table(here.moment, here.references), "Mean and spread of each column with 95 % bands")
    if here.moment.labels:
        groups = st.multiselect(**control("explore-groups"), options=here.moment.labels)
        if groups:
            rows = here.moment.group_means(fit.response, groups)
            frame(pd.DataFrame(rows), f"Mean of {fit.response} in each group")
    st.download_button(**control("explore-synthetic"), data=lambda: csv(here.moment.synthetic(1000)))
