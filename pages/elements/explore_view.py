"""Parts of the Explore page: the model, kinds of answers, the list of models, and pictures of all columns."""

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
from pages.elements.explore_release import columns_unlike_public, completed, confirming, release_of_moment
from pages.elements.jobs import FOCUS
from pages.elements.released import is_of_other_table
from pages.elements.widgets import (
    PLAIN,
    badge,
    below,
    below_all,
    chart,
    download_table,
    errors_shown,
    figure_first,
    frame,
    number,
)
from pages.elements.workflow_state import another_table
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import ExploreWords, PageWords
from pmtcore.base.numbers import rounded
from pmtcore.explore.logistic import Logistic
from pmtcore.explore.moment import Moment
from pmtcore.explore.regression import Regression
from pmtcore.releases.record import modelled_response
from pmtcore.report.figures import explore as figures
from pmtcore.report.rows import MOST_COLUMNS
from pmtcore.report.rows import source as source_column
from pmtcore.report.sheet import csv_text
from pmtcore.report.words import date_columns, modelled_levels, reference_levels

_KEY, _RECORDS, _CLICKS, _WITHOUT = "explore-held", "explore-records", "explore-clicks", "explore-without"
_EPOCH = date(1970, 1, 1).toordinal()
_REFERENCE = "the reference level"
_FEATURES = "The columns that explain it: any of them, at no further cost."
_CORRECTIONS = {
    "none": "a model chosen beforehand",
    "bonferroni": "all models compared (Bonferroni)",
    "scheffe": "every contrast of one response (Scheffé)",
}


@dataclass(slots=True)
class MomentView:
    """An open record and the choices made on it; it has public and released figures only.

    Attributes:
        moment: of the record.
        title: of the record.
        names: names that the user gave models, by key.
        pinned: keys of pinned models.
        features: features chosen last, by response.
        latest: features chosen last, of any response.
        logistics: logistic regressions that were computed, by response and names.
        with_rows: the moment with public rows, which are on this machine and in no saved record.
        references: level without a column of its own, by source column.
        modelled: level that counts as 1, by label.
        dates: columns that count days.
    """

    moment: Moment
    title: str
    names: dict[str, str] = field(default_factory=dict)
    pinned: list[str] = field(default_factory=list)
    features: dict[str, list[str]] = field(default_factory=dict)
    latest: list[str] = field(default_factory=list)
    logistics: dict[tuple[str, tuple[str, ...]], Logistic] = field(default_factory=dict)
    with_rows: Moment | None = None
    references: dict[str, str] = field(default_factory=dict)
    modelled: dict[str, str] = field(default_factory=dict)
    dates: frozenset[str] = frozenset()

    @property
    def label(self) -> Label:
        """Return the label of its figures."""
        return self.moment.label

    @property
    def pinned_models(self) -> dict[str, Regression]:
        """Return the pinned models by their names."""
        named = figures.model_titles(self.moment.looked, self.names)
        every = {figures.key_of(fit): fit for fit in self.moment.looked}
        return {named[key]: every[key] for key in every if key in self.pinned}

    def event(self, response: str) -> str:
        """Return the event that a label of 1 stands for; empty for a number."""
        return figures.event_of(self.moment, response, self.modelled)

    def logistic(self, fit: Regression) -> Logistic:
        """Return the logistic regression with the columns of a linear one, computed once."""
        key = fit.response, fit.names
        if key not in self.logistics:
            moment = self.with_rows or self.moment
            self.logistics[key] = moment.logistic(response=fit.response, features=list(fit.names[1:]))
        return self.logistics[key]


def open_view() -> MomentView | None:
    """Return the open record."""
    record: MomentView | None = st.session_state.get(_KEY)
    return record


def pinned_answers(record: Mapping[str, Any]) -> str:
    """Return this session's pinned models of a release's moment, as a part of its report; empty without any.

    Args:
        record: of the release, in plain fields.
    """
    digest = str(record["released"].get("joint_moment", {}).get("digest", ""))
    view: MomentView | None = st.session_state.get(_RECORDS, {}).get(digest)
    return "" if view is None else figures.answers(view.pinned_models, view.moment)


def open_record(moment: Moment, title: str, notes: Sequence[str] = ()) -> None:
    """Open a record; one that was open before in this session has its models and their number again.

    Args:
        moment: of the record.
        title: of the record.
        notes: of its release, which name the reference levels of categories.
    """
    records: dict[str, MomentView] = st.session_state.setdefault(_RECORDS, {})
    st.session_state[_KEY] = records.setdefault(
        str(moment.record.as_dict()["digest"]),
        MomentView(
            moment,
            title,
            references=reference_levels(notes),
            modelled=modelled_levels(notes),
            dates=date_columns(notes),
        ),
    )
    st.session_state.pop("explore-response", None)
    st.session_state[FOCUS] = True


def page(view: MomentView) -> None:
    """Draw the choice of the model, and the chosen kind of answer."""
    with figure_first("explore"):
        head(view)
        fit = question(view)
        if fit is None:
            return
        answers(view, fit)
    models(view, fit)
    another_table()


def head(view: MomentView) -> None:
    """Draw the open record, with its download."""
    left, middle, right = st.columns([6, 1.5, 1.3], vertical_alignment="center")
    # The button that opened the record is gone, so this line gets the keyboard focus.
    with left, st.container(key="verdict"):
        if st.session_state.pop(FOCUS, False):
            scripts.run(scripts.TO_VERDICT)
        st.caption(f"{badge(view.label)} **{plain(view.title)}**: {plain(figures.record_words(view.moment))}")
        id = release_of_moment(view.moment)
        if id is not None and is_of_other_table(id):
            st.warning("Another table is open now: Close leads to a release from it.", icon=":material/swap_horiz:")
        unlike = columns_unlike_public(view.moment)
        if unlike is not None:
            st.warning(plain(figures.unlike_words(unlike)), icon=":material/warning:")
    saved = below_all(middle, "save")
    if view.with_rows is not None:
        saved = saved.popover(**control("explore-save-choices"))
    rows_too = view.with_rows is not None and saved.toggle(**control("explore-complete"))
    moment = view.with_rows if rows_too and view.with_rows is not None else view.moment
    saved.download_button(**control("explore-save"), data=lambda: json.dumps(moment.record.as_dict()))
    if below_all(right, "close").button(**control("explore-close")):
        st.session_state.pop(_KEY)
        st.rerun()


def question(view: MomentView) -> Regression | None:
    """Draw the choice of response and features; return the regression."""
    moment = view.moment
    left, middle, right = st.columns([2, 6, 1.6], vertical_alignment="bottom")
    options = figures.responses(moment)
    start = options.index(moment.record.target) if moment.record.target in options else 0
    response = left.selectbox(**control("explore-response"), options=options, index=start)
    levels = figures.by_source([name for name in moment.columns if name != response])
    choice = list(levels)
    latest_features = [name for name in view.latest if name in choice]  # another response keeps the model's columns
    first = view.features.get(response) or latest_features or figures.first_columns(moment, response)
    key = f"explore-features-{response}"
    settings: dict[str, Any] = {"key": key, "help": _FEATURES, **at_first(key, default=first or choice)}
    if len(choice) <= MOST_COLUMNS:
        chosen = middle.pills("Features", choice, format_func=plain, selection_mode="multi", wrap=True, **settings)
    else:
        chosen = middle.multiselect("Features", choice, **settings)
    view.latest = view.features[response] = chosen = [name for name in choice if name in chosen]
    with right.popover(**control("explore-choices")):
        st.button(**control("explore-clear"), disabled=not chosen, on_click=_clear, args=(key, chosen[:1]))
        lam = number(st, "explore-ridge", 0.0, 1e9, start=0.0)
        correction = pick(st, "explore-correction", _CORRECTIONS)
        without = _draw_left_out_levels(levels, chosen)
    remarks = [figures.left_out_words([*choice, *without], chosen)] + [f"Ridge penalty {lam:g}."] * (lam > 0)
    remarks += [f"Bands are for {_CORRECTIONS[correction]}."] * (correction != "none")
    if any(remarks):
        st.caption(plain(" ".join(sentence for sentence in remarks if sentence)))
    with errors_shown():
        features = [name for column in chosen for name in levels[column] if name not in without]
        return moment.regress(response=response, features=features, ridge=float(lam))
    return None


def _draw_left_out_levels(levels: Mapping[str, list[str]], chosen: Sequence[str]) -> list[str]:
    """Draw the choice of levels that are left out of the model; return them.

    A column that was removed and is chosen again has all its levels.
    """
    options = [name for column in chosen if levels[column] != [column] for name in levels[column]]
    st.session_state[_WITHOUT] = [name for name in st.session_state.get(_WITHOUT, []) if name in options]
    without: list[str] = st.multiselect(**control("explore-without"), options=options) if options else []
    return without


def _clear(key: str, first: list[str]) -> None:
    """Remove all features but the first."""
    st.session_state[key] = first


def coefficients(view: MomentView, fit: Regression) -> None:
    """Draw coefficients with bands, beside the correlations of all columns with the response."""
    correction = st.session_state.get("explore-correction") or "none"
    table = figures.table(fit, correction, view.moment.models)
    scales = figures.in_steps(view.moment, fit)
    drawn = figures.chart_rows(table, scales, fit.freedom if correction == "none" else None) if scales else None
    bases = figures.baselines(view.references, view.moment.columns, fit.features)
    example = figures.example_words(view.moment, fit, table, bases, event=view.event(fit.response))
    explained = plain(figures.fit_words(fit))
    if words := f"{f'**{explained}** ' if explained else ''}{plain(example)}":
        below(st, "fit").markdown(f"{badge(view.label)} {words}")
    left, right = st.columns([2, 3], gap="medium")
    with left, below(st, "map"):
        correlations = neighbours(view, fit, () if drawn is None else list(drawn["coefficient"]))
    with right:
        if drawn is not None:
            picture = figures.forest(view.moment, fit, drawn, view.modelled)
            sizes = table["coefficient"].map(figures.comparable_steps(view.moment))
            with_sizes = table.assign(**{"step of the picture": sizes})
            chart(picture, "explore", "Coefficients with 95 % bands", with_sizes, label=view.label)
            remarks = figures.picture_words(view.moment, fit, bases, correction)
            st.caption("\n".join(f"* {plain(words)}" for words in remarks))
        else:
            frame(table, "Coefficients with 95 % bands")
    title = f"{badge(view.label)} Correlations with {plain(fit.response)}"
    with st.expander(title, icon=":material/table_rows:", key=f"explore-correlations-{fit.response}"):
        frame(correlations, f"Correlations with {fit.response}, with 95 % bands")
    if fit.response in view.moment.labels:
        logistic(view, fit)


def logistic(view: MomentView, fit: Regression) -> None:
    """Draw the logistic regression of a label, which needs public rows, of the record or of the open tables."""
    if not st.toggle(**control("explore-logistic")):
        return
    if view.with_rows is None and not view.moment.has_rows:
        view.with_rows = completed(view.moment)
        if view.with_rows is None:
            st.caption(PageWords.LOGISTIC_NEEDS_TABLES.sentence())
            return
        st.rerun()  # the download of the record now offers them
    fitted = view.logistic(fit)
    frame(figures.logistic_table(fitted), "Logistic coefficients with 95 % bands")
    st.caption(plain(f"Log-odds for one unit of each feature. {fitted.note}"))


def neighbours(view: MomentView, fit: Regression, drawn: Collection[str]) -> pd.DataFrame:
    """Draw the correlations of all columns with the response; a click adds or removes a column; return the table.

    Args:
        view: the open record.
        fit: the model.
        drawn: its coefficients in the picture beside this one.
    """
    picture, table = figures.neighbours(
        view.moment,
        fit,
        modelled_response(fit.response, view.modelled.get(fit.response)),
        view.references,
        beside=drawn,
    )
    # The key changes with each click, so that a mark is not selected any more and can be clicked again.
    key = f"explore-map-{fit.response}-{st.session_state.get(_CLICKS, 0)}"
    st.plotly_chart(
        picture,
        width="stretch",
        key=key,
        alt=f"Correlation of every column with {fit.response}, with 95 % bands; the list of features above does the "
        "same by keyboard",
        config=PLAIN,
        on_select=lambda: _toggle(key, fit.response, figures.by_source(view.moment.columns)),
        selection_mode="points",
    )
    levels = " One that is the clearest of several levels stands for its column; single levels are under More choices."
    has_levels = len(figures.by_source(view.moment.columns)) < len(view.moment.columns)
    st.caption(f"Click a mark to put its column into the model, or to take it out.{levels if has_levels else ''}")
    return table


def _toggle(map_key: str, response: str, levels: Mapping[str, list[str]]) -> None:
    """Add what was clicked to the model, or remove it: a column, or one of its levels.

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


def models(view: MomentView, fit: Regression) -> None:
    """Draw the list of models shown, with names, pins and comparison."""
    key = figures.key_of(fit)
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    name = left.text_input(**control("explore-name", f"-{key}"), value=view.names.get(key, ""))
    if name:
        view.names[key] = name
    if middle.button(**control("explore-pin"), label="Unpin" if key in view.pinned else "Pin"):
        (view.pinned.remove if key in view.pinned else view.pinned.append)(key)
        st.rerun()
    shown_models, pinned = view.moment.looked, view.pinned_models
    right.download_button(
        **control("explore-report"),
        data=lambda: figures.section(
            pinned or {figures.model_titles(shown_models, view.names)[key]: fit}, view.moment, view.title
        ),
    )
    n_hidden = view.moment.models - len(shown_models)
    st.header(
        f"Models shown: {len(shown_models)}{f', and {n_hidden:,} more compared by best subsets' if n_hidden else ''}"
    )
    frame(figures.listing(shown_models, view.names, view.pinned), "Models shown, newest first, with their fits")
    if len(pinned) < 2:  # by default, the effect of the last change of features
        earlier = [one for one in shown_models if one.response == fit.response and figures.key_of(one) != key][-1:]
        pinned = dict(zip(("this model", "the one before"), [fit, *earlier], strict=False))
        if earlier:
            st.caption("This model and the one before of the same response; models that you pin take their place.")
    if len(pinned) > 1:
        figure, table = figures.side_by_side(pinned, view.moment, view.modelled)
        chart(figure, "explore-side", "Coefficients of the pinned models side by side", table, label=view.label)
        if words := figures.nested_words(pinned):
            st.markdown(f"{badge(view.label)} {plain(words)}")
        table_of_models = figures.regression_table(pinned)
        st.caption("Value ± half the width of its 95\u00a0% band.")
        frame(table_of_models, "The pinned models as one table, as the report has it")
        download_table(table_of_models, "pinned")


def answers(view: MomentView, fit: Regression) -> None:
    """Draw the choice of the kind of answer, and compute the chosen one; all but the second release are free."""
    draw = {
        "Coefficients": coefficients,
        "Test and predict": _test,
        "Paths": _paths,
        "Correlations": _correlations,
        "Network": _network,
        "Components": _components,
        "Columns": _columns,
        "Second release": lambda view, fit: confirming(view.moment, fit, view.label),
        "Code": _code,
    }
    draw[segments("explore-more", list(draw), "Coefficients")](view, fit)


def _code(_: MomentView, fit: Regression) -> None:
    """Draw the code of the regression."""
    for words, text in figures.code(fit).items():
        st.caption(words)
        st.code(text, language="python" if words == "Python" else "bash")


def _test(view: MomentView, fit: Regression) -> None:
    """Draw a prediction at given values, joint tests of coefficients, and what each column explains."""
    left, right = st.columns([3, 2], gap="large")
    with left:
        _predict(view, fit)
    offered = figures.tests_offered(fit)
    with right:
        chosen = st.multiselect(**control("explore-test"), options=list(offered))
        if chosen:
            words = figures.joint_test_words(fit, [name for one in chosen for name in offered[one]], view.moment)
            st.markdown(f"{badge(view.label)} {plain(words)}")
        if fit.features:
            st.caption("Test that all effects of a column are zero (F distribution; df: of the error).")
            frame(figures.factor_tests(fit), "Test of all effects of each column")
    if fit.features:
        frame(figures.shares_table(fit), "Partial R² and variance inflation of each feature with 95 % bands")


def _predict(view: MomentView, fit: Regression) -> None:
    """Draw a form of values of the columns, and the prediction there, at first at the released means."""
    inputs = view.moment.inputs(fit)
    base = [name for name in view.moment.record.derived.base if name in view.moment.columns and name != fit.response]
    # All levels of a column, also those without a coefficient in this model.
    columns = [name for levels in figures.by_source(base).values() if inputs & set(levels) for name in levels]
    with st.form("explore-predict"):
        values = _values(view, columns)
        st.form_submit_button(**control("explore-predict-go"))
        prediction, event = view.moment.predict(fit, values), view.event(fit.response)
        st.markdown(f"{badge(view.label)} {plain(figures.predicted_words(fit, prediction, event))}")
        if event and st.session_state.get("explore-logistic") and (view.with_rows or view.moment).has_rows:
            chance = view.logistic(fit).chance(view.moment.with_derived(values))
            words = ExploreWords.CHANCE_LOGISTIC.sentence(event=event, value=rounded(chance, 3))
            st.markdown(f"{badge(view.label)} {plain(words)}")
    st.caption(PageWords.PREDICTION_STARTS.sentence())


def _values(view: MomentView, given: list[str]) -> dict[str, float]:
    """Draw a list for each column with levels and a number for each other column; return values by name."""
    means = {row["column"]: row["mean"] for row in view.moment.summary()} if view.moment.has_constant else {}
    columns, values = st.columns(3), dict[str, float]()
    for j, (name, dummies) in enumerate(figures.by_source(given).items()):
        place = columns[j % 3]
        if name in view.dates:
            values[name] = _day(place, name, means.get(name, 0.0))
            continue
        if dummies == [name]:
            start, help = float(f"{means.get(name, 0.0):.4g}"), "Starts at the released mean."
            values[name] = place.number_input(
                plain(name), value=start, format="%g", key=f"explore-at-{name}", help=help, required=True
            )
            continue
        options = {view.references.get(name, _REFERENCE): view.references.get(name, _REFERENCE)}
        options |= {dummy: dummy.removeprefix(f"{name}=") for dummy in dummies}
        level = pick(place, "explore-level", options, at=f"-{name}", label=plain(name))
        values |= {dummy: float(dummy == level) for dummy in dummies}
    return values


def _day(place: DeltaGenerator, name: str, mean: float) -> float:
    """Draw a date; return the days since 1970-01-01."""
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


def _paths(view: MomentView, fit: Regression) -> None:
    """Draw ridge and lasso paths, and best subsets."""
    kind = segments("explore-path", ("ridge", "lasso", "best subsets"), "ridge")
    if kind == "best subsets":
        with errors_shown():
            before = view.moment.models
            subsets = view.moment.best_subsets(fit)
            if view.moment.models != before:
                st.rerun()  # the header states how many models were compared
            best = f"{badge(view.label)} **{plain(figures.best_subset_words(subsets))}**"
            st.markdown(f"{best} {PageWords.ALL_SUBSETS_COUNT.sentence()}")
            frame(figures.subsets_table(subsets), "The best columns of each number")
        return
    ridge = kind == "ridge"
    path = view.moment.ridge_path(fit, figures.comparable_steps(view.moment)) if ridge else view.moment.lasso_path(fit)
    words = "The table says in what share of draws of noise and sampling a feature is chosen."
    if ridge:
        words = figures.ridge_words(view.moment, path)
    alt = f"Coefficients along the {kind} path"
    picture = figures.paths(view.moment, path, fit.response, view.modelled)
    table = figures.path_table(view.moment, path)
    chart(picture, "explore-paths", alt, table, label=view.label, words=words)


def _correlations(view: MomentView, fit: Regression) -> None:
    """Draw correlations of all columns."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    first = figures.first_related_columns(view.moment, fit.response)
    columns = left.multiselect(
        **control("explore-related", default=first), options=list(figures.by_source(view.moment.columns))
    )
    partial = right.toggle(**control("explore-partial"))
    figure, table = figures.heat(view.moment, partial, columns)
    words = f"{figures.heat_words(view.moment, columns)} {figures.chance_words(view.moment)}"
    chart(figure, "explore-heat", "Correlations of all pairs of columns", table, label=view.label, words=words)


def _network(view: MomentView, _: Regression) -> None:
    """Draw the network of partial correlations."""
    figure, table = figures.network(view.moment)
    words = figures.network_words(view.moment, len(table))
    chart(figure, "explore-network", "Network of partial correlations", table, label=view.label, words=words)


def _components(view: MomentView, _: Regression) -> None:
    """Draw principal components."""
    figure, table = figures.scree(view.moment)
    alt, words = "Shares of variance of the principal components", figures.components_words(view.moment)
    chart(figure, "explore-scree", alt, table, label=view.label, words=words)
    frame(pd.DataFrame(view.moment.loadings()), "Loadings of the first components with 95 % bands")


def _columns(view: MomentView, fit: Regression) -> None:
    """Draw means and spreads, group means, synthetic rows."""
    frame(figures.summary_table(view.moment, view.references), "Mean and spread of each column with 95 % bands")
    if view.moment.labels:
        groups = st.multiselect(**control("explore-groups"), options=view.moment.labels)
        if groups:
            rows = view.moment.group_means(fit.response, groups)
            frame(pd.DataFrame(rows), f"Mean of {fit.response} in each group")
    st.download_button(**control("explore-synthetic"), data=lambda: csv_text(view.moment.synthetic(1000)))
