"""A random walk through the app: any page, any control, any value it offers; no step may raise.

``python -m tests.app.walk --steps 500 --seed 1`` walks one; the test suite walks a short one.
``--role`` walks signed in, with a registered data set on offer; ``--columns`` stays on a table of that many features.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ButtonGroup, Multiselect, Selectbox, SelectSlider
from streamlit.testing.v1.errors import AppTestError

from pages.elements import actors
from pmtcore.base.roles import OWNER, Actor, Role
from pmtcore.ledger.log import Ledger
from pmtcore.releases.register import register
from tests.app.conftest import ROOT

PAGES = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "pages").glob("*/*.py")) if "elements" not in str(path)]
HEAVY = ("Select 10 times", "Run the attacks", "Recompute", "Audit everything", "Run", "More trials")  # minutes of work
OTHER_TABLES = ("Tables", "press A known table", "press Delete my data")  # actions that would close the open table
SLOW_TABLES = ("Adult", "Bank", "Forest")
TIMEOUT = 180


class LessonView(str):
    """Label of an option, on which a visitor clicks."""

    __slots__ = ()


def prepared() -> None:
    """Let AppTest know that the app has its own navigation (decision 0002), and choose options by their labels."""
    original = PagesManager.__init__

    def init(self: PagesManager, *args: Any, **kwargs: Any) -> None:
        PagesManager.uses_pages_directory = False
        original(self, *args, **kwargs)

    PagesManager.__init__ = init  # type: ignore[method-assign]
    for kind in (Selectbox, ButtonGroup, Multiselect, SelectSlider):
        kind.format_func = property(_printed(kind.format_func.fget))


def _printed(own: Callable[[Any], Callable[[Any], Any]]) -> Callable[[Any], Callable[[Any], Any]]:
    def format_func(widget: Any) -> Callable[[Any], Any]:
        return lambda value: str(value) if isinstance(value, LessonView) else own(widget)(value)

    return format_func


def moves(app: AppTest, rng: random.Random) -> list[tuple[str, Callable[[], Any]]]:
    """Return the actions that a visitor has now, by label."""
    actions: list[tuple[str, Callable[[], Any]]] = []
    for box in [*app.selectbox, *app.segmented_control]:
        options = _values(box)
        if options:
            value = rng.choice(options)
            actions.append((f"{box.label} = {value}", lambda box=box, value=value: box.set_value(value)))
    for box in app.multiselect:
        value = rng.sample(_values(box), k=min(len(_values(box)), rng.randint(0, 3)))
        actions.append((f"{box.label} = {value}", lambda box=box, value=value: box.set_value(value)))
    for slider in app.select_slider:
        value = rng.choice(_values(slider))
        actions.append((f"{slider.label} = {value}", lambda slider=slider, value=value: slider.set_value(value)))
    for slider in app.slider:
        at = slider.min + rng.random() * (slider.max - slider.min)
        value = round(at) if isinstance(slider.value, int) else at
        actions.append((f"{slider.label} = {value}", lambda slider=slider, value=value: slider.set_value(value)))
    for number in app.number_input:
        value = rng.choice([number.min, number.max, number.value, 0.01, 3, 7])
        if value is not None and "Trials" not in number.label and "Places" not in number.label:
            value = type(number.value or 0.0)(value)
            if (number.min is None or value >= number.min) and (number.max is None or value <= number.max):
                actions.append(
                    (f"{number.label} = {value}", lambda number=number, value=value: number.set_value(value))
                )
    for text in [*app.text_input, *app.text_area]:
        value = rng.choice(["", "x1", "1e-6", "nonsense", "a = b | c", "<b>&\"'"])
        actions.append((f"{text.label} = {value!r}", lambda text=text, value=value: text.set_value(value)))
    for toggle in [*app.toggle, *app.checkbox]:
        actions.append((f"{toggle.label}", lambda toggle=toggle: toggle.set_value(not toggle.value)))
    for button in app.button:
        rare = button.label == "Delete my data" and rng.random() < 0.9
        if not rare and not button.disabled and not button.label.startswith(HEAVY):
            actions.append((f"press {button.label}", button.click))
    return actions


def _values(box: Any) -> list[Any]:
    return [LessonView(option) for option in box.options if not option.startswith(SLOW_TABLES)]


def wide_table(rows: int, columns: int, seed: int) -> bytes:
    """Return a CSV file of normal features and one response that depends on all of them."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((rows, columns))
    table = pd.DataFrame(features, columns=[f"x{j}" for j in range(columns)])
    table["response"] = features.mean(axis=1) + rng.standard_normal(rows)
    return table.to_csv(index=False).encode()


def sign_in(role: Role, folder: Path) -> None:
    """Let every visitor be signed in with this role, and register a data set."""
    private, public = folder / "private.csv", folder / "public.csv"
    private.write_bytes(wide_table(400, 3, 1))
    public.write_bytes(wide_table(60, 3, 2))
    register(OWNER, Ledger(os.environ["PMT_LEDGER"]), "survey", str(private), public=str(public), cap=50.0)
    actors.signs_in = lambda: True
    actors.identified = lambda claims: Actor(role.value, role)


def open_wide(app: AppTest, columns: int) -> None:
    """Open a table of this many features on the Data page."""
    app.switch_page("pages/work/data.py").run()
    app.segmented_control(key="source").set_value("upload").run()
    app.file_uploader(key="upload-private").set_value(("wide.csv", wide_table(3000, columns, 1), "text/csv"))
    app.file_uploader(key="upload-public-rows").set_value(("few.csv", wide_table(600, columns, 2), "text/csv"))
    app.run()


def walk(steps: int, seed: int, say: Callable[[str], None] = lambda line: None, columns: int = 0) -> None:
    """Act at random; the first exception is raised with the actions before it."""
    rng, history = random.Random(seed), []
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    if columns:
        open_wide(app, columns)
    for step in range(steps):
        choices = [one for one in moves(app, rng) if not (columns and one[0].startswith(OTHER_TABLES))]
        if rng.random() < 0.2 or not choices:
            page = rng.choice(PAGES)
            history.append(f"go {page}")
            app.switch_page(page).run()
        else:
            name, move = rng.choice(choices)
            history.append(name)
            try:
                move()
            except (ValueError, TypeError, AppTestError) as error:  # this AppTest cannot enter the value
                history[-1] += f" (not entered: {type(error).__name__})"
                continue
            app.run()
        say(f"{step + 1} {history[-1]}")
        if app.exception:
            errors = "\n".join(str(e.value) + "\n" + "\n".join(e.stack_trace) for e in app.exception)
            raise AssertionError(f"seed {seed}, step {step + 1}: {errors}\nactions: {history[-12:]}")
        if history[-1] == "press Delete my data":
            # A visitor goes on from here. AppTest asks for the value of Plan's first control, which Streamlit's state
            # does not have until the next run: a new session begins as this one would.
            app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--role", choices=[role.value for role in Role])
    parser.add_argument("--columns", type=int, default=0)
    chosen = parser.parse_args()
    prepared()
    with tempfile.TemporaryDirectory() as place:
        os.environ["PMT_LEDGER"] = f"sqlite:///{place}/walk.db"
        if chosen.role:
            sign_in(Role(chosen.role), Path(place))
        walk(chosen.steps, chosen.seed, (lambda line: None) if chosen.quiet else print, chosen.columns)
    who = f", signed in as {chosen.role}" if chosen.role else ""
    wide = f", on {chosen.columns} columns" if chosen.columns else ""
    print(f"{chosen.steps} steps from seed {chosen.seed}{who}{wide} without an exception")
