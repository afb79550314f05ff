"""What the site makes while it is built: the page of methods from the registry, pages from notebooks, two menus."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from pmtcore.methods.registry import Method, methods
from pmtcore.papers.errata import ERRATA

DOCS = Path(__file__).parent


def on_config(config: Any) -> Any:
    """List notebooks and decisions, in their order."""
    for entry in config["nav"]:
        if "Notebooks" in entry:
            entry["Notebooks"] = [f"notebooks/{path.stem}.md" for path in notebooks()]
        if "Decisions" in entry:
            entry["Decisions"] = ["decisions/index.md", *(f"decisions/{path.name}" for path in decisions())]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Make the pages that are written here; the notebooks themselves stay to be downloaded."""
    made = {"methods.md": all_methods(), "decisions/index.md": all_decisions()}
    made |= {f"notebooks/{path.stem}.md": page(path) for path in notebooks()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for file in list(files):
        if file.src_uri.endswith((".py", ".toml")):
            files.remove(file)
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Remove the roles of docstrings, which the site would print: ``:func:`` before a name."""
    return re.sub(r":(?:func|meth|class|attr|data|mod):(?=<code>)", "", html)


def notebooks() -> list[Path]:
    """Return all notebooks, by their number."""
    return sorted(DOCS.glob("notebooks/*.ipynb"))


def decisions() -> list[Path]:
    """Return all notes on decisions, by their number."""
    return sorted(DOCS.glob("decisions/[0-9]*.md"))


def all_decisions() -> str:
    """Return the list of the notes by subject: number and title."""
    head = (
        "# Decisions\n\nChoices that a newcomer would undo, each with its reason, its figure and what would reopen it. "
        "Numbers are those by which the code cites a note; those that are missing are not used. A note's figures are "
        "of the code at its time.\n\nm is the number of public rows, n of private ones, d of columns, mu the total "
        "budget. *tune* and *check* are the two parts of a collection of 279 real tables: constants were chosen on the "
        "first, and the second was looked at afterwards ([How accurate](../accuracy.md)). Errors are distances to the "
        "non-private fit, where nothing else is said in its own standard errors.\n"
    )
    notes = {int(path.name[:4]): path for path in decisions()}
    lines = [head]
    for subject, numbers in tomllib.loads((DOCS / "decisions" / "subjects.toml").read_text()).items():
        lines.append(f"\n## {subject}\n\n| | |\n|---|---|\n")
        for number in numbers:
            title = re.sub(r"^# \d+\. ", "", notes[number].read_text().partition("\n")[0])
            lines.append(f"| {number} | [{title}]({notes[number].name}) |\n")
    return "".join(lines)


def all_methods() -> str:
    """Describe the registry."""
    entries = sorted(methods(), key=lambda m: (m.standing.value != "sound", not m.recommended, m.id))
    head = (
        "# Methods\n\nEvery method registers itself; this page is made from the registry. A *sound* method's releases "
        "may be published with their guarantee; a *lab* method is there for study, and cannot be released. Errata are "
        "places of a paper where what follows is not what is printed.\n\n"
        "| id | fits | standing | trust | from |\n|---|---|---|---|---|\n"
    )
    rows = [
        f"| [`{m.id}`](#{m.id}) | {', '.join(m.families)} | {m.standing.value}{', to start from' * m.recommended} | "
        f"{'local' if m.local else 'central'} | {cell(m.origin.source)} |"
        for m in entries
    ]
    return head + "\n".join(rows) + "\n\n" + "\n\n".join(map(one_method, entries)) + "\n"


def one_method(entry: Method) -> str:
    """Describe a method: what it does, why it stands where it stands, its parameters and errata."""
    record = entry.as_dict()
    lines = [f"## `{entry.id}` {{#{entry.id}}}", f"**{entry.title}.** {entry.summary}", ""]
    lines.append(
        f"*Source:* {entry.origin.source}. *Neighbours:* {entry.claim.neighbours.value}. *Noise:* {record['noise']}. "
        f"*{entry.standing.value.capitalize()}:* {entry.claim.reason}."
    )
    for page in sorted((DOCS / "proofs").glob("*.md")):
        if re.search(rf"^#+ \d+.*`{re.escape(entry.id)}`", page.read_text(), re.MULTILINE):
            lines += ["", f"*Proof:* [{page.stem}](proofs/{page.name})."]
    if record["parameters"]:
        lines += ["", "| parameter | default | range | what it does |", "|---|---|---|---|"]
    for name, field in record["parameters"].items():
        low, high = field["low"], field["high"]
        bounds = "text" if low is None else f"{low:g} to {high:g}"
        span = ", ".join(field["choices"]) if field["choices"] else bounds
        meaning = f"{field['label']}. {field['help']}"
        lines.append(f"| `{name}` | {field['default']} | {cell(span)} | {cell(meaning)} |")
    for id in entry.origin.errata:
        erratum = ERRATA[id]
        lines += ["", f"- **{id}** ({erratum.where}): {erratum.what}. Here: {erratum.here}."]
    return "\n".join(lines)


def page(path: Path) -> str:
    """Return a notebook as a page: text, code, and what the code printed."""
    cells = json.loads(path.read_text())["cells"]
    parts = [part for each in cells for part in cell_parts(each)]
    title, rest = parts[0], parts[1:]
    link = f"[Download this notebook]({path.name})."
    return "\n\n".join([title, link, *rest]) + "\n"


def cell_parts(content: dict[str, Any]) -> list[str]:
    """Return a cell's source and its outputs."""
    source = "".join(content["source"])
    if content["cell_type"] == "markdown":
        return [source]
    parts = [f"```python\n{source}\n```"]
    for output in content["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            parts.append(f'<div class="output">{"".join(data["text/html"])}</div>')
        elif "text" in output or "text/plain" in data:
            parts.append(f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```")
    return parts


def cell(text: str) -> str:
    """Escape text inside a table."""
    return str(text).replace("|", "\\|").replace("\n", " ")
