"""Names out of somebody's file, on every page: shown as they are written, never acted upon."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from tests.app.conftest import ROOT
from tests.hostile import NAMES, RAW, in_charts, table

PAGES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "pages").glob("*/*.py") if path.parent.name != "elements"
)
# Fields that a browser shows as plain text, or not at all.
PLAIN = {
    ("Selectbox", "options"),
    ("Selectbox", "raw_value"),
    ("MultiSelect", "options"),
    ("MultiSelect", "raw_values"),
    ("TextInput", "default"),
    ("TextInput", "value"),
    ("TextArea", "default"),
    ("TextArea", "value"),
    ("Code", "code_text"),
    ("PlotlyChart", "alt"),
    ("Dataframe", "alt"),
    ("Html", "body"),  # never holds a name: see the test of the code below
}


def texts(message: Message, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Every string in a message: its kind of message, its field, itself."""
    for field, value in message.ListFields():
        many = value if field.is_repeated else [value]
        for one in many:
            if isinstance(one, Message):
                yield from texts(one)
            elif isinstance(one, str) and "id" not in field.name.split("_"):
                yield message.DESCRIPTOR.name, field.name, one


def elements(app: AppTest) -> Iterator[Message]:
    """Every element on screen."""
    for node in app._tree:
        proto = getattr(node, "proto", None)
        if isinstance(proto, Message):
            yield proto


def acted_upon(app: AppTest) -> list[str]:
    """Fields in which part of a hostile name stands as markup."""
    collected = []
    for proto in elements(app):
        for kind, field, text in texts(proto):
            if (kind, field) in PLAIN:
                continue
            if (kind, field) == ("Dataframe", "columns"):  # by name; what is drawn as markdown is in the settings
                text = json.dumps(list(json.loads(text or "{}").values()))
            own = re.sub(r"\[arXiv [\d.]+\]\(https://arxiv\.org/abs/[\d.]+\)", "", text)  # the papers' own links
            signs = [sign for sign in RAW if re.search(r"(?<!\\)" + re.escape(sign), own)]
            if (kind, field) == ("PlotlyChart", "spec"):  # JSON with Plotly's own tags
                signs = in_charts(text)
            collected += [f"{kind}.{field}: {sign!r} in {text[:200]!r}" for sign in signs]
    return collected


def opened(app: AppTest) -> AppTest:
    """Return the hostile tables are open, fitted on a hostile target."""
    app.segmented_control(key="source").set_value("upload").run()
    app.file_uploader(key="upload-private").set_value(("![n](http://evil.invalid/n).parquet", table(2000, 1), ""))
    app.file_uploader(key="upload-public-rows").set_value((":material/skull: <img>.parquet", table(200, 2), ""))
    app.run()
    (target,) = [box for box in app.selectbox if box.label == "Target"]
    target.set_value(NAMES[0]).run()
    assert not app.exception
    return app


def visit(app: AppTest, page: str) -> list[str]:
    app.switch_page(page).run()
    assert not app.exception, (page, app.exception)
    return [f"{page}: {one}" for one in acted_upon(app)]


@pytest.fixture
def hostile(app: AppTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> AppTest:
    monkeypatch.setenv("PMT_LEDGER", str(tmp_path / "ledger.db"))
    return opened(app)


def test_the_test_would_see_it(hostile: AppTest) -> None:
    """What is looked for is found where a page shows it raw."""
    plain = {field for proto in elements(hostile) for kind, field, text in texts(proto) if "](http" in text}
    assert plain >= {"options"}


@pytest.mark.slow
def test_no_page_acts_upon_a_name(hostile: AppTest) -> None:
    """Every page with hostile tables open, before and after releases, with what folds out; and the ledger's notes."""
    collected = []
    hostile.toggle(key="curator").set_value(True).run()
    for page in PAGES:
        collected += visit(hostile, page)
    hostile.switch_page("pages/work/release.py").run()
    next(one for one in hostile.text_input if one.label == "Purpose").set_value(
        "for ![pix](http://evil.invalid/p.png) <img> :red[x]"
    ).run()
    (sure,) = [box for box in hostile.checkbox if box.key.startswith("sure-")]
    sure.set_value(True).run()
    next(button for button in hostile.button if button.key.startswith("go-")).click().run()
    assert not hostile.exception and hostile.success
    collected += acted_upon(hostile)
    hostile.switch_page("pages/work/explore.py").run()
    (sure,) = [box for box in hostile.checkbox if box.key.startswith("sure-")]
    sure.set_value(True).run()
    next(button for button in hostile.button if button.key.startswith("go-")).click().run()
    assert not hostile.exception
    collected += acted_upon(hostile)
    assert not hostile.error, hostile.error[0].value
    tabs = hostile.segmented_control(key="explore-more")
    for choice in tabs.options:
        hostile.segmented_control(key="explore-more").set_value(choice).run()
        assert not hostile.exception
        collected += acted_upon(hostile)
    for page in PAGES:
        collected += visit(hostile, page)
    assert not collected, "\n".join(dict.fromkeys(collected))
