"""Gallery: the papers' experiments, what they say beside what came out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Lock

import streamlit as st

from pages.common import turns
from pages.common.widgets import chart, show_error
from pmtcore.base.checks import InputError
from pmtcore.base.foreign import markdown as plain
from pmtcore.base.records import Label
from pmtcore.lab.gallery.catalogue import figure, figures
from pmtcore.lab.gallery.engine import Computation, Figure, load_stored, store
from pmtcore.show.figures import gallery as pictures
from pmtcore.show.glossary import help_for

KEY = "gallery-run"


def choose() -> Figure:
    """Which figure; the link names it."""
    ids = [entry.id for entry in figures()]
    stored = next((id for id in ids if load_stored(figure(id))), ids[0])
    asked = st.query_params.get("figure", stored)
    chosen = st.selectbox(
        "Figure",
        ids,
        index=ids.index(asked) if asked in ids else 0,
        format_func=lambda id: f"{id}  {figure(id).title} ({figure(id).source})",
        key="gallery-figure",
        help=f"{help_for('papers')} The link in the address bar opens the chosen figure.",
    )
    st.query_params["figure"] = chosen
    return figure(chosen)


def show(chosen: Figure, record: dict[str, object]) -> None:
    """Picture, verdict, table."""
    chart(
        pictures.picture(chosen, record),
        f"gallery-{chosen.id}",
        f"{chosen.title}: {chosen.y_label} against {chosen.x_label}",
        pictures.table(record),
        Label.LAB,
    )
    st.caption(
        f"{record['trials']} trials, computed on {record['computed']}; the paper has {chosen.trials}. Line: mean; "
        f"band: one standard deviation (not below the 10 % quantile on a log axis)."
    )
    st.header("What the paper says, and what came out")
    for line, entry in zip(pictures.verdict_words(record["verdict"]), record["verdict"], strict=True):  # type: ignore[arg-type, call-overload]
        (st.success if entry["holds"] else st.warning)(plain(line))
    if omitted := pictures.omitted_words(record):
        st.caption(plain(omitted))
    if chosen.notes:
        st.caption(chosen.notes)


def start(chosen: Figure) -> None:
    """Buttons that recompute."""
    left, right, _ = st.columns([1, 1, 2])
    quick = left.button(f"Recompute, {chosen.quick} trials", key="gallery-quick", icon=":material/bolt:")
    full = right.button(f"Recompute, {chosen.trials} trials", key="gallery-full", icon=":material/replay:")
    if quick or full:
        try:
            made = Computation(chosen, chosen.quick if quick else chosen.trials)
            turns.take(made)
            st.session_state[KEY] = (made, made.steps(), Lock())
            st.rerun()
        except InputError as error:
            show_error(error)


def advance(steps: Iterator[float], alone: Lock) -> bool:
    """Work for a moment; whether work is left. A run that a newer one overtook may still be at it: then it goes on."""
    if not alone.acquire(blocking=False):
        return True
    try:
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            if next(steps, None) is None:
                return False
        return True
    finally:
        alone.release()


def live() -> None:
    """Progress, stop, and the picture so far."""
    if KEY not in st.session_state:  # ended by a run that this one overtook
        st.rerun()
    made, steps, alone = st.session_state[KEY]
    st.progress(min(made.share, 1.0), f"{made.share:.0%} of {made.trials} trials")
    if st.button("Stop, keep what is done", key="gallery-stop", icon=":material/stop:"):
        made.stop()
    turns.note(made)
    if not advance(steps, alone):
        turns.note(made, live=False)
        record = made.as_dict()
        if record["series"]:
            store(record)
            st.session_state[f"gallery-last-{made.figure.id}"] = record
        st.session_state.pop(KEY, None)
        st.rerun()


st.title("Gallery")
st.markdown(
    "The published experiments, recomputed here on data of the same kind: what the paper says beside what came out."
)
current = choose()
st.markdown(f"**Paper {current.source}.** {current.claim}")
if KEY in st.session_state:
    st.fragment(live, run_every=0.2)()
else:
    start(current)
    found = st.session_state.get(f"gallery-last-{current.id}") or load_stored(current)
    if found is None:
        st.info("Not computed yet on this machine; a quick run takes seconds to a minute.", icon=":material/info:")
    else:
        show(current, found)
