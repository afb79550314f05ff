"""Gallery: the experiments of the papers, with their claims and the recomputed results."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

import streamlit as st

from pages.elements import actors, gallery_wall
from pages.elements.controls import control, pick
from pages.elements.live import progress, redrawn, work
from pages.elements.widgets import chart, errors_shown
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import percent, plural
from pmtcore.methods.registry import method
from pmtcore.papers.errata import ERRATA
from pmtcore.papers.figures import gallery as pictures
from pmtcore.papers.gallery.catalogue import figure, figures
from pmtcore.papers.gallery.claims import Answer
from pmtcore.papers.gallery.engine import Computation, Figure, load_stored, store
from pmtcore.papers.gallery.unsettled import OpenClaim, open_claims
from pmtcore.releases import job_slots
from pmtcore.report.names import source

KEY = "gallery-run"


def choose() -> Figure:
    """Draw the choice of the figure, which the address names, and the way back to all; return the chosen one."""
    ids = [entry.id for entry in figures()]
    stored = next((id for id in ids if load_stored(figure(id))), ids[0])
    start = st.query_params.get("figure", stored)
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    chosen = pick(left, "gallery-figure", ids, start, words=_words)
    right.button(**control("gallery-all"), on_click=gallery_wall.open_figure, args=("",))
    st.query_params["figure"] = chosen
    return figure(chosen)


def _words(id: str) -> str:
    """Return a figure's id, its title and its place in the paper."""
    return f"{id}  {figure(id).title} ({figure(id).source})"


def show(chosen: Figure, record: dict[str, object]) -> None:
    """Draw picture, verdict and table."""
    alt = f"{chosen.title}: {chosen.y_label} against {chosen.x_label}"
    chart(pictures.picture(chosen, record), f"gallery-{chosen.id}", alt, pictures.table(record), label=Label.LAB)
    st.caption(
        f"Line: mean; band: one standard deviation (not below the 10\u00a0% quantile on a log axis). "
        f"{pictures.trials_words(chosen, record)}"
    )
    answered(record["verdict"], list(open_claims(chosen, record)))  # type: ignore[arg-type]
    if useless := pictures.useless_words(chosen, record):
        st.caption(plain(useless))
    if omitted := pictures.omitted_words(record):
        st.caption(plain(omitted))
    st.caption(f"x is {chosen.x_label}. {PageWords.INTERVALS_OF_CLAIMS.sentence()}")
    if chosen.notes:
        st.caption(plain(chosen.notes))
    if short := pictures.abbreviations(chosen, record):
        st.caption(plain(f"{short}."))
    st.download_button(
        **control("gallery-numbers"), data=lambda: json.dumps(record, indent=1), file_name=f"{chosen.id}.json"
    )
    explained(chosen)


_BOXES: dict[Answer, Callable[..., object]] = {
    Answer.HOLDS: partial(st.success, icon=":material/check_circle:"),
    Answer.FAILS: partial(st.warning, icon=":material/cancel:"),
    Answer.OPEN: partial(st.info, icon=":material/help:"),
    Answer.UNSTATED: partial(st.info, icon=":material/tune:"),
}


def answered(verdict: Sequence[Mapping[str, Any]], unanswered: Sequence[OpenClaim]) -> None:
    """Draw the paper's claims with answers and the settings that these depend on, then this project's claims.

    Args:
        verdict: answers of the figure's claims.
        unanswered: claims without an answer, with the number of trials that would give one.
    """
    st.header("What the paper says, and what came out")
    if not boxes(pictures.verdicts(verdict, unanswered)):
        st.markdown("The paper has no sentence about this figure by itself.")
    if settings := pictures.reasons(verdict):
        st.markdown("**Settings that the paper does not state**")
        st.markdown("\n".join(f"* ({letter}) {plain(words)}." for letter, words in settings.items()))
    ours = pictures.verdicts(verdict, unanswered, ours=True)
    if ours:
        st.header("What this project claims, which the paper does not")
        boxes(ours)


def boxes(verdicts: Sequence[pictures.Verdict]) -> bool:
    """Draw a box for each claim, with the answer and a line for each comparison; return whether there is a claim."""
    for one in verdicts:
        lines = "".join(f"\n* {plain(line)}" for line in one.lines)
        setting = f" ({one.reason})" if one.reason else ""
        _BOXES[one.answer](f"**{plain(one.words)}**{setting}\n{lines}")
    return bool(verdicts)


def explained(chosen: Figure) -> None:
    """Draw descriptions of the methods, and errata that concern the figure."""
    with st.expander("Methods in this figure", icon=":material/function:"):
        for id in chosen.methods:
            entry = method(id)
            st.markdown(f"**{entry.title}** `{entry.id}` ({source(entry.id)}): {entry.summary}")
        st.page_link("pages/study/learn.py", label="How they work, step by step", icon=":material/school:")
    if errata := pictures.errata_of(chosen):
        with st.expander(f"What is printed, what follows, what is done here ({', '.join(errata)})"):
            for id in errata:
                entry_words = ERRATA[id]
                st.markdown(plain(f"{id} ({entry_words.where}): {entry_words.what}. Done here: {entry_words.here}."))


def start(chosen: Figure) -> None:
    """Draw buttons that recompute the figure, with the time that each takes."""
    record = load_stored(chosen)
    row = st.container(horizontal=True)
    waits = [pictures.wait_words(record, count) for count in (chosen.quick, chosen.trials)]
    labels = [
        f"Recompute, {plural(count, 'trial')}" + (f" ({wait})" if wait else "")
        for count, wait in zip((chosen.quick, chosen.trials), waits, strict=True)
    ]
    quick = row.button(**control("gallery-quick"), label=labels[0])
    full = row.button(**control("gallery-full"), label=labels[1])
    if quick or full:
        with errors_shown():
            made = Computation(chosen, chosen.quick if quick else chosen.trials)
            job_slots.acquire(made, actors.claimant())
            st.session_state[KEY] = (made, made.steps(), Lock())
            st.rerun()


def advance(steps: Iterator[float], alone: Lock) -> bool:
    """Compute for a moment; return whether work is left. If another run of the page computes, nothing is done."""
    if not alone.acquire(blocking=False):
        return True
    try:
        return work(lambda: next(steps, None) is not None, 0.6)
    finally:
        alone.release()


def live() -> bool:
    """Draw progress and Stop, and compute for a moment; return whether work is left."""
    if KEY not in st.session_state:  # another run of the page ended it
        return False
    made, steps, alone = st.session_state[KEY]
    words = f"{percent(made.share)} of {plural(made.trials or 0, 'trial')}"
    progress(made.share, words, "gallery-stop", made.stop)
    job_slots.note(made)
    if advance(steps, alone):
        return True
    job_slots.note(made, running=False)
    record = made.as_dict()
    if record["series"]:
        store(record)
        st.session_state[f"gallery-last-{made.figure.id}"] = record
    st.session_state.pop(KEY, None)
    return False


def open_figure() -> None:
    """Draw the open figure."""
    current = choose()
    place = plain(current.source.split(", ", 1)[1])
    st.markdown(f"**{place}** of {gallery_wall.cited(current.id[0])}. {plain(current.words)}")
    if KEY in st.session_state:
        redrawn(live, 0.2)
    else:
        result = st.session_state.get(f"gallery-last-{current.id}") or load_stored(current)
        if result is None:
            st.info(pictures.wanting_words(current), icon=":material/info:")
            st.markdown(f"What the paper says: {plain(current.claim or 'no sentence about this figure by itself.')}")
        else:
            show(current, result)
        start(current)


if not gallery_wall.draw_wall():
    open_figure()
