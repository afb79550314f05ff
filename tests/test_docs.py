"""Documentation is checked against the code."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

import pmtcore as pc
from pmtcore.accounting.budgets import detected_percent
from pmtcore.cli.parser import parser
from pmtcore.methods.registry import methods
from pmtcore.papers.errata import ERRATA, words

ROOT = Path(__file__).resolve().parents[1]
PROOFS = {page.name: page.read_text() for page in sorted((ROOT / "docs" / "proofs").glob("*.md"))}
MATHS = "\n".join(PROOFS.values())
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "command-line.md").read_text()


def test_every_cited_proof_is_there():
    """A docstring that cites a page and a section of the proofs cites a section of that page."""
    sections = {page: set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", text, re.MULTILINE)) for page, text in PROOFS.items()}
    for path in (ROOT / "pmtcore").rglob("*.py"):
        text = path.read_text().replace("``", "")
        for page, cited in re.findall(r"proofs/([a-z-]+\.md),? (?:section )?(\d+(?:\.\d+)?)", text):
            assert cited in sections[page], f"{path.name} cites {page}, {cited}"
        assert "maths.md" not in text, path


def test_every_cited_document_is_there():
    """A page that a docstring, a comment or a guide names lies in the documentation or at the top of the tree."""
    known = {path.name for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))}
    made = {"methods.md", "errata.md"}  # by docs/hooks.py
    for path in sorted((ROOT / "pmtcore").rglob("*.py")):
        cited = set(re.findall(r"\b([a-z0-9-]+\.md)\b", path.read_text()))
        assert cited <= known | made, f"{path.name} cites {sorted(cited - known - made)}"


def test_every_method_has_its_words():
    """Each registered method is named in the proofs, and each erratum it carries is explained there."""
    for entry in methods():
        named = f"`{entry.id}`" in MATHS or entry.id.startswith("dp-")
        assert named, f"docs/proofs says nothing of {entry.id}: CONTRIBUTING.md, Add a method, step 2"
        for erratum in entry.origin.errata:
            assert f"**{erratum}**" in MATHS, f"docs/proofs/errata.md does not explain {erratum} of {entry.id}"


def test_every_erratum_has_its_line():
    """Each erratum that a method carries is in the table that the app shows."""
    for entry in methods():
        assert words(entry.origin.errata) or not entry.origin.errata
    assert set(ERRATA) == {f"E{k}" for k in range(1, 28)}


def test_every_command_is_documented():
    """A command that exists is in the table of commands, to which the README leads."""
    (subparsers,) = (a for a in parser()._actions if hasattr(a, "choices") and a.dest == "command")
    for name in subparsers.choices:
        assert f"`{name}`" in COMMANDS, name
    assert "docs/command-line.md" in README


def test_decisions_are_numbered_and_in_the_index():
    """Each note has a number of its own, which is that of its title, and stands under one subject of the index."""
    notes = {int(note.name[:4]): note for note in sorted((ROOT / "docs" / "decisions").glob("*.md"))}
    subjects = tomllib.loads((ROOT / "docs" / "decisions" / "subjects.toml").read_text())
    listed = [number for numbers in subjects.values() for number in numbers]
    assert sorted(listed) == sorted(notes) and len(notes) == len(list((ROOT / "docs" / "decisions").glob("*.md")))
    for number, note in notes.items():
        assert note.read_text().startswith(f"# {number}. "), note.name


def test_every_dependency_has_its_reason():
    """Each requirement is in the table of dependencies."""
    notes = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    reasons = notes[0].read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    for line in [*project["dependencies"], *extras, *(ROOT / "requirements.txt").read_text().split()]:
        assert (name := re.match(r"[a-z-]+", line).group()) in reasons or name == project["name"], name


def test_the_files_of_dependencies_agree():
    """The lock has what requirements.txt names, and both have what the application needs, within the bounds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [Requirement(line) for line in [*project["dependencies"], *extras["app"], *extras["postgres"]]]
    pinned = {r.name: r for r in map(Requirement, (ROOT / "requirements.txt").read_text().split())}
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    assert {r.name for r in needed} == set(pinned)
    for requirement in [*needed, *pinned.values()]:
        assert requirement.specifier.contains(locked[requirement.name]), requirement


def test_the_two_lines_are_there():
    """The README has one line that starts the app and one that passes the tests, each a single command line."""
    for mark, part in (("start", "streamlit run app.py"), ("tests", "pytest")):
        block = re.search(rf"<!-- {mark} -->(.*?)<!-- /{mark} -->", README, re.DOTALL).group(1)
        lines = [line for line in block.splitlines() if line.startswith("python3")]
        assert len(lines) == 1 and part in lines[0]


def test_nothing_names_this_machine():
    """No tracked text has an absolute path of a home or work folder."""
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("pmtcore/**/*.py")]:
        assert not re.search(r"/(home|work|root|tmp)/\w", path.read_text()), path


def test_the_notebooks_are_there_and_small():
    """Six or more, each with outputs, none with a path of a machine or an error."""
    items = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
    assert len(items) >= 6
    for path in items:
        text = path.read_text()
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        outputs = [output for cell in cells for output in cell["outputs"]]
        assert len(text) < 100_000 and outputs, path
        assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs), path
        assert not re.search(r"/(home|work|root|tmp)/\\w", text), path


def test_what_a_budget_means_is_computed():
    """The table of the guide to budgets is the trade-off curve."""
    text = (ROOT / "docs" / "budget.md").read_text()
    lines = re.findall(r"^\| (?:mu|an attacker).*$", text, re.MULTILINE)
    mus, shares = (re.findall(r"[\d.]+", line) for line in lines)
    assert [f"{detected_percent(float(mu)):.1f}" for mu in mus] == shares


def test_the_face_is_documented():
    """Every name of ``import pmtcore as pc`` has its place in the reference."""
    reference = (ROOT / "docs" / "reference.md").read_text()
    for name in pc.__all__:
        assert name in reference, name


def test_every_extra_that_is_named_exists():
    """A sentence that tells somebody to install an extra names one that pyproject.toml has."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for path in [
        ROOT / "README.md",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("pmtcore/**/*.py"),
        *ROOT.glob("pages/**/*.py"),
    ]:
        for named in re.findall(r"second-moment\[([a-z,]+)\]", path.read_text()):
            assert set(named.split(",")) <= set(extras), f"{path.name} names {named}"


def test_every_page_is_in_the_menu():
    """A page that nobody can find is not read."""
    menu = (ROOT / "mkdocs.yml").read_text()
    for path in ROOT.glob("docs/*.md"):
        assert path.name in menu, path.name


def test_lists_begin_after_an_empty_line():
    """Markdown draws a list that follows a line of text as a part of that line."""
    for path in ROOT.glob("docs/**/*.md"):
        lines = re.sub(r"^ *```.*?^ *```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL).splitlines()
        in_list = False
        for before, line in zip(["", *lines], lines, strict=False):
            item = re.match(r"(\* |- |\d+\. )", line) is not None
            assert not item or in_list or not before.strip(), f"{path.name}: {line}"
            in_list = item or (in_list and bool(line.strip()))
