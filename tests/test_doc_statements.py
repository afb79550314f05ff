"""Statements of the documentation that the code can refute: commands, options, names, links, limits, examples."""

from __future__ import annotations

import importlib
import math
import re
import shlex
import tomllib
from pathlib import Path
from statistics import NormalDist

import pytest

from pmtcore.accounting.budgets import detected_percent
from pmtcore.base import memory
from pmtcore.base.messages import InputError
from pmtcore.cli import main as cli
from pmtcore.cli.parser import parser
from pmtcore.ledger import engines
from pmtcore.ledger.account import START_CAP
from pmtcore.methods.registry import ReleaseStatus, methods
from pmtcore.tables import limits
from pmtcore.tables.persons import canonical_identifier

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
    if page.name not in ("CHANGELOG.md", "papers.md")
}
SOURCE = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in ("pmtcore", "pages", "benchmarks", "tests", "deploy", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".R", ".toml", ".yaml") and path != Path(__file__)
) + "".join((ROOT / name).read_text(encoding="utf-8") for name in ("app.py", "compose.yaml", "Dockerfile"))
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
MB = 2**20

# Options of other programs.
FOREIGN = {"--build-arg", "--init", "--no-deps", "--read-only", "--strict", "--tmpfs", "--upgrade"}


def commands(text: str) -> list[str]:
    """Return the lines of a page that call the command line and can be typed: none with a placeholder."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    blocks += re.findall(r"((?:^    .*\n)+)", text, re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`([^`\n]+)`", text)
    calls = [re.sub(r"\s+#.*", "", line) for line in lines]
    calls = [re.sub(r"^(second-moment|python -m pmtcore) ", "", line) for line in calls if _is_call(line)]
    return [line for line in calls if not re.search(r"\.\.\.|[|<>\[]|\b[A-Z]{3,}\b", line)]


def _is_call(line: str) -> bool:
    return bool(re.match(r"(second-moment|python -m pmtcore) [a-z]", line)) and "second-moment-" not in line


CALLS = sorted({(page, line) for page, text in PAGES.items() for line in commands(text)})


@pytest.mark.parametrize(("page", "line"), CALLS, ids=[f"{page}: {line[:40]}" for page, line in CALLS])
def test_a_command_of_a_page_is_one(page, line):
    """Each call that a page prints in full is accepted by the parser."""
    try:
        parser().parse_args(shlex.split(line))
    except InputError as error:
        raise AssertionError(f"{page}: {line}") from error


def test_the_pages_have_commands():
    """The search above sees the calls of the guides."""
    assert len(CALLS) >= 20


def test_every_option_exists():
    """An option in the text of a page is one of this project's programs, or listed as another's."""
    for page, text in PAGES.items():
        for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(re.findall(r"`[^`\n]+`", text)))):
            assert option in FOREIGN or f'"{option}"' in SOURCE, f"{page} names {option}"


def test_every_environment_variable_exists():
    """A setting that a page names is read somewhere."""
    for page, text in PAGES.items():
        for name in set(re.findall(r"\bPMT_[A-Z_]+", text)):
            assert name in SOURCE, f"{page} names {name}"


def _exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:size]))
        except ImportError:
            continue
        for part in parts[size:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


def test_every_module_and_file_exists():
    """``pmtcore.a.b`` can be imported, and a path with a suffix or a room of the package is there."""
    rooms = {path.name for path in (ROOT / "pmtcore").iterdir() if path.is_dir()}
    tops = {"pmtcore", "pages", "tests", "benchmarks", "docs", "assets", ".ci", ".streamlit"}
    for page, text in PAGES.items():
        for code in set(re.findall(r"`([^`\n]+)`", text)):
            if re.fullmatch(r"pmtcore(\.\w+)+", code):
                assert _exists(code), f"{page} names {code}"
            first, *rest = code.rstrip("/").split("/")
            if rest and first in rooms | tops and "your_method" not in code and re.fullmatch(r"[\w./-]+", code):
                below = [ROOT / code, ROOT / "pmtcore" / code, ROOT / "pmtcore" / f"{code}.py"]
                assert any(path.exists() for path in below), f"{page} names {code}"


def _anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.replace("`", "").lower()).strip().replace(" ", "-") for head in heads}


def test_every_link_leads_somewhere():
    """A link to a file of this project, and to a heading in it, leads there."""
    made = {"docs/methods.md"}
    for page, text in PAGES.items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = link.partition("#")
            if re.match(r"https?:", link):
                continue
            target = (ROOT / page).parent / file if file else ROOT / page
            if str(target.relative_to(ROOT)) in made:
                continue
            assert target.exists(), f"{page} leads to {link}"
            assert not anchor or anchor in _anchors(target.read_text(encoding="utf-8")), f"{page} leads to {link}"


def test_every_decision_that_is_cited_exists():
    """``decision 32`` is the number of a note, in a page, in code and in the changelog."""
    numbers = {int(path.name[:4]) for path in (ROOT / "docs" / "decisions").glob("*.md")}
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for page, text in {**PAGES, "the code": SOURCE, "CHANGELOG.md": changes}.items():
        for cited in re.findall(r"\b[Dd]ecisions? (\d+(?:(?:, | and )\d+)*)", text):
            for number in re.findall(r"\d+", cited):
                assert int(number) in numbers, f"{page} cites decision {number}"


STATEMENTS = [
    ("docs/server.md", "Each process holds at most ten connections", 10, engines._CONNECTIONS),
    ("docs/server.md", "waits up to five minutes", 5 * 60, engines._QUEUE_SECONDS),
    ("docs/server.md", "20 for each person with a role", 20, limits.MAX_PERSON_SESSIONS),
    ("docs/server.md", "20 for each address", 20, limits.MAX_ADDRESS_SESSIONS),
    ("docs/server.md", "half of all sessions", limits.MAX_SESSIONS // 2, limits.MAX_UNSIGNED),
    ("docs/server.md", "Long runs: 3 for each person", 3, limits.MAX_PERSON_RUNNING),
    ("docs/server.md", "All uploads together: a quarter of the memory", 0.25, limits.UPLOAD_SHARE),
    ("docs/server.md", "One upload: 200 MB", [200, 200], [limits.MAX_UPLOAD_MB, CONFIG["maxUploadSize"]]),
    ("docs/server.md", "for 60 seconds", 60, CONFIG["disconnectedSessionTTL"]),
    ("docs/numbers.md", "with a cap of mu 3 unless you set another", 3.0, START_CAP),
    ("docs/numbers.md", "in at most 26 % of the cases", 26.0, detected_percent(1.0)),
    ("docs/numbers.md", "in at most 69.2 % of the cases", 69.2, math.ceil(1000 * NormalDist().cdf(0.5)) / 10),
    (
        "docs/scale.md",
        "an eighth of the memory of a command, or a 32nd of that of another process (from 96 MB up to 1 GB)",
        (1 / 8, 1 / 32, 96 * MB, 1024 * MB),
        (memory._COMMAND_SHARE, memory._OTHER_SHARE, memory.LEAST_KEPT, memory.MOST_KEPT),
    ),
]


@pytest.mark.parametrize(("page", "phrase", "stated", "code"), STATEMENTS, ids=[row[1] for row in STATEMENTS])
def test_a_limit_of_a_page_is_that_of_the_code(page, phrase, stated, code):
    """The phrase stands on the page, and the code works with its value."""
    assert phrase in " ".join(PAGES[page].split())
    assert code == stated


def test_the_overview_of_the_proofs_has_every_page():
    """Number and title of each page, as the page itself has them, and the menu names the page."""
    pages = {name: text for name, text in PAGES.items() if name.startswith("docs/proofs/") and "index" not in name}
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name, text in pages.items():
        number, title = re.match(r"# (?:(\d+)\. )?(.*)\n", text).groups()
        stem = Path(name).stem
        assert f"| {number or ''} | [{stem}]({stem}.md) | {title} |" in PAGES["docs/proofs/index.md"], name
        assert f"proofs/{stem}.md" in menu, name


def test_every_sound_method_leads_to_its_proof():
    """The page of methods finds a proof by its heading, which names the method."""
    heads = re.findall(r"^#+ \d.*$", "\n".join(PAGES.values()), re.MULTILINE)
    named = set(re.findall(r"`([a-z-]+)`", " ".join(heads)))
    for entry in methods():
        if entry.standing is ReleaseStatus.SOUND and entry.role == "method" and not entry.id.startswith("dp-"):
            assert entry.id in named, (
                f"no heading of docs/proofs names `{entry.id}`: CONTRIBUTING.md, Add a method, step 2"
            )


BUTTONS = [
    *("Ask for agreement", "Delete my data", "More choices", "My own tables", "Release what was agreed to"),
    "Stop before the spend",
]


@pytest.mark.parametrize("button", BUTTONS)
def test_a_button_that_the_guides_name_is_there(button):
    """A control has the words by which a guide calls it."""
    guides = " ".join(" ".join(text.split()) for text in PAGES.values())
    assert f"*{button}*" in guides
    sources = [*(ROOT / "pages").rglob("*.py"), *(ROOT / "pages").rglob("*.toml")]
    assert any(f'"{button}"' in path.read_text(encoding="utf-8") for path in sources)


def test_the_runbook_quotes_messages():
    """What an operator searches for in docs/server.md is what the program says."""
    table = PAGES["docs/server.md"].partition("## Runbook")[2]
    quoted = re.findall(r'^\| "([^"]+)"', table, re.MULTILINE)
    assert len(quoted) >= 5
    for message in quoted:
        for part in re.split(r"event N|: ", message):
            assert part.strip(" ,") in SOURCE, message


def test_the_exit_statuses_are_those_of_the_program():
    """The table of the command line's page is the table of ``cli.main``."""
    table = re.findall(r"^\| (\d+) \|", PAGES["docs/command-line.md"], re.MULTILINE)
    assert [int(status) for status in table] == [cli.OK, cli.BAD_INPUT, cli.CAP_REACHED, cli.INTERNAL, cli.STOPPED]


def test_identifiers_are_compared_as_the_page_says():
    """The examples of docs/pitfalls.md: what is one person, and what is not recognised as one."""
    text = " ".join(PAGES["docs/pitfalls.md"].split())
    alike, apart = re.search(r"exact value: (.*?) are one person, (.*?) are two", text).groups()
    assert len({canonical_identifier(cell) for cell in re.findall(r"`([^`]+)`", alike)}) == 1
    assert len({canonical_identifier(cell) for cell in re.findall(r"`([^`]+)`", apart)}) == 2
    unknown = re.search(r"\*\*Not recognised as one person\*\*:(.*)", text).group(1)
    pairs = re.findall(r"`([^`]+)` and `([^`]+)`", unknown)
    assert pairs and all(canonical_identifier(one) != canonical_identifier(other) for one, other in pairs)


def test_the_readme_states_the_figures_of_the_page_on_accuracy():
    """Each figure of the README's table stands in docs/accuracy.md."""
    table = PAGES["README.md"].partition("## How accurate")[2].partition("\n## ")[0]
    cells = [cell for line in re.findall(r"^\| .*", table, re.MULTILINE)[1:] for cell in line.split("|")[2:4]]
    figures = [figure for cell in cells for figure in re.findall(r"\d\.\d+", cell)]
    assert len(figures) >= 10
    for figure in figures:
        assert figure in PAGES["docs/accuracy.md"], figure
