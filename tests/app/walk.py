"""A random walk through the app: any page, any control, any value it offers; no step may raise.

``python -m tests.app.walk --steps 500 --seed 1`` walks one; the test suite walks a short one.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from typing import Any

from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ButtonGroup, Multiselect, Selectbox, SelectSlider
from streamlit.testing.v1.errors import AppTestError

from tests.app.conftest import ROOT

PAGES = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "pages").glob("*/*.py")) if "common" not in str(path)]
HEAVY = ("Select 10 times", "Run the attacks", "Recompute", "Audit everything", "Run", "More trials")  # minutes of work
SLOW_TABLES = ("Adult", "Bank", "Forest")
TIMEOUT = 180


class Shown(str):
    """An option as it is printed: what a visitor clicks on."""

    __slots__ = ()


def prepared() -> None:
    """AppTest forgets, before each run, that the app has its own navigation (decision 0002); and it takes options as
    the app knows them, where a visitor takes them as they are printed."""
    original = PagesManager.__init__

    def init(self: PagesManager, *args: Any, **kwargs: Any) -> None:
        PagesManager.uses_pages_directory = False
        original(self, *args, **kwargs)

    PagesManager.__init__ = init  # type: ignore[method-assign]
    for kind in (Selectbox, ButtonGroup, Multiselect, SelectSlider):
        kind.format_func = property(_printed(kind.format_func.fget))


def _printed(own: Callable[[Any], Callable[[Any], Any]]) -> Callable[[Any], Callable[[Any], Any]]:
    def format_func(widget: Any) -> Callable[[Any], Any]:
        return lambda value: str(value) if isinstance(value, Shown) else own(widget)(value)

    return format_func


def moves(app: AppTest, rng: random.Random) -> list[tuple[str, Callable[[], Any]]]:
    """All that a visitor could do now."""
    found: list[tuple[str, Callable[[], Any]]] = []
    for box in [*app.selectbox, *app.segmented_control]:
        options = _values(box)
        if options:
            value = rng.choice(options)
            found.append((f"{box.label} = {value}", lambda box=box, value=value: box.set_value(value)))
    for box in app.multiselect:
        value = rng.sample(_values(box), k=min(len(_values(box)), rng.randint(0, 3)))
        found.append((f"{box.label} = {value}", lambda box=box, value=value: box.set_value(value)))
    for slider in app.select_slider:
        value = rng.choice(_values(slider))
        found.append((f"{slider.label} = {value}", lambda slider=slider, value=value: slider.set_value(value)))
    for slider in app.slider:
        at = slider.min + rng.random() * (slider.max - slider.min)
        value = round(at) if isinstance(slider.value, int) else at
        found.append((f"{slider.label} = {value}", lambda slider=slider, value=value: slider.set_value(value)))
    for number in app.number_input:
        value = rng.choice([number.min, number.max, number.value, 0.01, 3, 7])
        if value is not None and "Trials" not in number.label and "Places" not in number.label:
            value = type(number.value or 0.0)(value)
            if (number.min is None or value >= number.min) and (number.max is None or value <= number.max):
                found.append((f"{number.label} = {value}", lambda number=number, value=value: number.set_value(value)))
    for text in [*app.text_input, *app.text_area]:
        value = rng.choice(["", "x1", "1e-6", "nonsense", "a = b | c", "<b>&\"'"])
        found.append((f"{text.label} = {value!r}", lambda text=text, value=value: text.set_value(value)))
    for toggle in [*app.toggle, *app.checkbox]:
        found.append((f"{toggle.label}", lambda toggle=toggle: toggle.set_value(not toggle.value)))
    for button in app.button:
        rare = button.label == "Delete my data" and rng.random() < 0.9
        if not rare and not button.disabled and not button.label.startswith(HEAVY):
            found.append((f"press {button.label}", button.click))
    return found


def _values(box: Any) -> list[Any]:
    return [Shown(option) for option in box.options if not option.startswith(SLOW_TABLES)]


def walk(steps: int, seed: int, say: Callable[[str], None] = lambda line: None) -> None:
    """Walk; the first exception ends it with the way that led there."""
    rng, way = random.Random(seed), []
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    for step in range(steps):
        if rng.random() < 0.2 or not (choices := moves(app, rng)):
            page = rng.choice(PAGES)
            way.append(f"go {page}")
            app.switch_page(page).run()
        else:
            name, move = rng.choice(choices)
            way.append(name)
            try:
                move()
            except (ValueError, TypeError, AppTestError) as error:  # a value that this AppTest cannot enter is no step
                way[-1] += f" (not entered: {type(error).__name__})"
                continue
            app.run()
        say(f"{step + 1} {way[-1]}")
        if app.exception:
            told = "\n".join(str(e.value) + "\n" + "\n".join(e.stack_trace) for e in app.exception)
            raise AssertionError(f"seed {seed}, step {step + 1}: {told}\nthe way: {way[-12:]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true")
    chosen = parser.parse_args()
    prepared()
    walk(chosen.steps, chosen.seed, (lambda line: None) if chosen.quiet else print)
    print(f"{chosen.steps} steps from seed {chosen.seed} without an exception")
