"""Names out of somebody's file in everything that leaves: report, script, notebook, command, sheet, charts."""

from __future__ import annotations

import ast
import csv
import io
import json
import shlex
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some

from pmtcore.accounting.budgets import Budget
from pmtcore.api.loading import in_words, results_of
from pmtcore.base import escaping
from pmtcore.explore.moment import Moment
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.release import Request, recorded_release
from pmtcore.report import deployment, reproduce
from pmtcore.report.figures import coefficients, explore, release
from pmtcore.report.html import report
from pmtcore.report.sheet import csv_text as sheet
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table
from tests.hostile import NAMES, in_charts, table

ROOT = Path(__file__).resolve().parents[2]


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value for name, value in attrs if name == "href"}


def filed(tmp_path_factory, method: str):
    private, public = read_table(table(1500, 1), "<p>.parquet", "private"), read_table(table(200, 2), "b", "public")
    problem = prepare(private, public, Choices(target=NAMES[0]))
    ledger = Ledger(str(tmp_path_factory.mktemp("hostile") / "ledger.db"))
    ledger.cap(NAMES[2], 3.0)
    request = Request(method, Budget(1.0))
    released = recorded_release(
        problem, request, SecureNoise(), ledger, dataset=NAMES[2], key="k", purpose=NAMES[3]
    ).release
    return released, ledger.entry("k").record, ledger.account(NAMES[2]).as_dict()


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    return filed(tmp_path_factory, "joint-pmt")


@pytest.fixture(scope="module")
def moment(tmp_path_factory):
    return Moment.of(filed(tmp_path_factory, "joint-moment")[1])


@pytest.mark.slow
def test_pages_of_html(joint, moment):
    """Report, notebook's answer, explored models: no tag, attribute or code out of a name."""
    _found, record, account = joint
    fit = moment.regress(response=moment.columns[0], features=list(moment.columns[1:6]))
    pages = [report(record, account, "head"), results_of(record)._repr_html_()]
    pages.append(explore.section({NAMES[2]: fit}, moment))
    for page in pages:
        made = Tags(page)
        assert not made.tags & {"img", "script", "iframe"} and not made.attributes & {"onerror", "onload"}
        assert all(place.startswith("#") for place in made.links)
        assert "\x1b" not in page and "\u202e" not in page


@pytest.mark.slow
def test_charts(joint, moment):
    """No tag, formula or code out of a name, in no part of a figure; and every mark keeps a label of its own."""
    result, _, _ = joint
    units = coefficients.units(result)
    fits = [moment.regress(response=c, features=list(moment.columns[3:9])) for c in moment.columns[:2]]
    drawn = [coefficients.forest(coefficients.table(result, unit), unit) for unit in units.values()]
    drawn += [release.parts(coefficients.table(result, unit), unit) for unit in units.values()]
    drawn += [release.ridge_path(result)] if "ridge_path" in result.released else []
    drawn += [explore.side_by_side(dict(zip(NAMES[:2], fits, strict=True)), moment)[0], explore.heat(moment, False)[0]]
    drawn += [explore.network(moment)[0]]
    for figure in drawn:
        assert not in_charts(figure.to_json())
    assert len(set(drawn[0].data[-1].y)) == len(result.names) - 1


def test_script_notebook_command(joint):
    """The script names the very columns, the notebook's heading has no markup, the command's words come back."""
    _found, record, _ = joint
    calls = [node for node in ast.walk(ast.parse(reproduce.script(record))) if isinstance(node, ast.keyword)]
    assert next(node.value.value for node in calls if node.arg == "target") == NAMES[0]
    assert reproduce.script(record).replace("\n", "").isprintable()
    cells = json.loads(reproduce.notebook(record))["cells"]
    assert "![" not in cells[0]["source"] and "://evil" not in cells[0]["source"]
    for code in cells[1:]:
        ast.parse(code["source"])
    assert NAMES[0] in shlex.split(reproduce.command(record))
    assert all(c.isprintable() or c == "\n" for c in deployment.entry(record, "", NAMES[12]))
    assert in_words(record).replace("\n", "").isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_gives_the_name_back(name):
    """What is quoted can be seen, and bash reads the very name from it."""
    quoted = escaping.shell_word(name)
    assert quoted.isprintable()
    done = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode() == name


def test_a_sheet_has_no_formula(joint):
    """Cells and headings: a formula is a text, a number is a number, every other text is itself."""
    rows = pd.DataFrame({"=h()": NAMES, "plain": range(len(NAMES)), "value": [-1.5] * len(NAMES)})
    items = list(csv.reader(io.StringIO(sheet(rows))))
    cells = [cell for row in items for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+")) or (cell[:1] == "-" and cell != "-1.5")]
    assert items[1][0] == NAMES[0] and items[1][1:] == ["0", "-1.5"]
    assert "\n=" not in sheet(release.coefficients_table(joint[0]))


@pytest.mark.slow
@given(some.text(max_size=40))
def test_any_text(text):
    """Whatever the name: nothing to be acted upon is left for any kind of place."""
    assert escaping.one_line(text).isprintable() and escaping.terminal(text).replace("\n", "").isprintable()
    assert "<" not in escaping.html(text) and '"' not in escaping.html(text)
    assert not set(escaping.chart(text)) & set("<>$") and "%{" not in escaping.chart(text)
    assert len(escaping.chart(text, 10)) <= 60
    assert not escaping.cell(text).startswith(("=", "@", "\t", "\r"))
    shown = escaping.markdown(text)
    assert all(shown[at - 1] == "\\" for at, c in enumerate(shown) if c in "*`[]<$|~{}" and shown[at - 1 : at] != "")


@pytest.mark.slow
def test_one_function_for_each_kind_of_place():
    """Sheets, HTML and raw markup are made in one place each; every chart is finished in one."""
    for path in [*(ROOT / "pmtcore").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]:
        tree, name = ast.parse(path.read_text()), str(path.relative_to(ROOT))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                assert node.attr != "to_csv" or name == "pmtcore/report/sheet.py", f"{name}: use show.sheet.csv"
            if (isinstance(node, ast.ImportFrom) and node.module == "html") or isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                assert not {"html", "escape"} & set(names) or name == "pmtcore/base/escaping.py", name
            if isinstance(node, ast.keyword):
                assert node.arg != "unsafe_allow_html", name
                assert node.arg != "unsafe_allow_javascript" or name == "pages/elements/scripts.py", name
            if isinstance(node, ast.FunctionDef) and name.startswith("pmtcore/report/figures/"):
                called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
                calls = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in called}
                text = ast.unparse(node)
                made = "go.Figure(" in text or "make_subplots(" in text
                assert not made or node.name.startswith("_") or calls & {"finish", "finish_rows"}, (
                    f"{name}, {node.name}: no finish()"
                )
            if isinstance(node, ast.Attribute) and name.startswith("pages/"):
                assert not (node.attr == "Figure" and isinstance(node.ctx, ast.Load) and _called(tree, node)), name


def _called(tree: ast.AST, result: ast.Attribute) -> bool:
    return any(isinstance(node, ast.Call) and node.func is result for node in ast.walk(tree))
