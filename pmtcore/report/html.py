"""One self-contained HTML file for stakeholders: works offline, prints well, holds public and released figures only.

Made from the plain record of a release (what ``release --json`` prints and the ledger keeps), so it can be made
again from the ledger. A lab release says so at the top. :func:`embedded_report` gives it as a part of a page that has
a title of its own.
"""

import base64
import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import Neighbours, of_person, only_responses, person_note, unit_of
from pmtcore.auditing.audits import latest_record
from pmtcore.base.escaping import html as escape
from pmtcore.base.exports import plain_json
from pmtcore.base.messages import ReportWords
from pmtcore.base.numbers import percent, plural, power_of_ten, rounded, unbroken, with_equal_decimals
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger.account import START_CAP
from pmtcore.methods.registry import method
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.record import modelled_response
from pmtcore.report import glossary
from pmtcore.report.checklist import checklist, proof_words
from pmtcore.report.drawings import curve, forest, number, table
from pmtcore.report.ledger_words import MARK, root_words, short_mark
from pmtcore.report.names import source
from pmtcore.report.reproduce import cap_command, command, configuration
from pmtcore.report.rows import few_words, step_words, steps
from pmtcore.report.rows import source as source_column
from pmtcore.report.statistics import (
    NAME,
    RATIOS,
    SCALES,
    SOURCES,
    TITLES,
    disagreement_of,
    off_centre_words,
    penalty_words,
    released_titles,
    title,
    titles_behind,
    titles_behind_bands,
    truncated_shares,
    truncation_of,
)
from pmtcore.report.strength import beside_deployments, strength, unprotected_words

_STYLE = "\n" + Path(__file__).with_name("report.css").read_text(encoding="utf-8")
# Headings of the report, each of which is one level lower where the report is part of another page.
_LEVELS = (1, 2, 3)
# Half-width of a band around a ratio below which it counts as no band.
_EQUAL_TOLERANCE = 1e-12
# Where the questions about the guarantee stand.
_QUESTIONS = "questions"
# Style of a drawing in a file of its own, without the style of the report.
_SVG_TAG = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13" '


def report(
    record: ReleaseRecord,
    account: Mapping[str, Any] | None = None,
    head: str | None = None,
    *,
    answers: str = "",
    table: str = "",
) -> str:
    """Return the report of one release.

    Args:
        record: a release in plain fields.
        account: the data set's account in the ledger, in plain fields.
        head: of the ledger's chain, so that cut-off events can be noticed.
        answers: models from a released moment, as HTML of :func:`pmtcore.report.figures.explore.answers`.
        table: title of the table, for a release that is in no ledger.

    Raises:
        TypeError: a private figure is among the fields.
    """
    fields = plain_json(dict(record))
    book = None if account is None else plain_json(dict(account))
    heading = f"Private regression of {escape(_modelled(fields))}"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{heading}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{heading}</h1>\n"
        + _contents(fields, book, head, answers=answers, title=table)
        + "\n</main>\n</body>\n</html>\n"
    )


def file_name(record: ReleaseRecord, kind: str, ending: str) -> str:
    """Return the name of a file about a release, distinct for distinct releases.

    Args:
        record: a release in plain fields.
        kind: kind of the file, such as ``report``.
        ending: of the name, such as ``html``.
    """
    about = str(record.get("ledger", {}).get("dataset", "")) or str(record["target"])
    parts = (kind, about, str(record["method"]), str(record.get("date", "")))
    words = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-")[:_NAME_PART] for part in parts)
    return f"{'-'.join(word for word in words if word)}.{ending}"


_NAME_PART = 40  # characters of a part of a file's name


def embedded_report(
    record: ReleaseRecord,
    account: Mapping[str, Any] | None = None,
    head: str | None = None,
    *,
    answers: str = "",
    table: str = "",
) -> str:
    """Return the content of the report without frame and style; headings are one level lower, drawings are images.

    Args:
        record: a release in plain fields.
        account: the data set's account in the ledger, in plain fields.
        head: of the ledger's chain.
        answers: as of :func:`report`.
        table: as of :func:`report`.

    Raises:
        TypeError: a private figure is among the fields.
    """
    text = report(record, account, head, answers=answers, table=table)
    body = text[text.index("<main>") + len("<main>") : text.rindex("</main>")]
    # Every "<" of a name or a value is escaped, so these are headings of the report alone.
    for level in reversed(_LEVELS):
        body = re.sub(rf"<(/?)h{level}(?=[ >])", rf"<\g<1>h{level + 1}", body)
    return re.sub(r"<svg .*?</svg>", _as_image, body, flags=re.DOTALL).strip()


def drawing_file(drawing: str) -> str:
    """Return a drawing of a report as the text of a file of its own."""
    return drawing.replace("<svg ", _SVG_TAG, 1)


def _as_image(drawing: re.Match[str]) -> str:
    """Return a drawing as an image, since some pages remove inline drawings from embedded HTML."""
    text = drawing.group()
    label = re.search(r'aria-label="([^"]*)"', text)
    named = re.search(r'<svg class="(\w+)"', text)
    small = f' class="{named.group(1)}"' if named else ""
    data = base64.b64encode(drawing_file(text).encode()).decode()
    return f'<img{small} alt="{label.group(1) if label else ""}" src="data:image/svg+xml;base64,{data}">'


def _contents(
    record: ReleaseRecord,
    book: Mapping[str, Any] | None,
    head: str | None,
    *,
    answers: str,
    title: str,
) -> str:
    """Return all parts below the title, those that a stakeholder needs first."""
    picture, tables = _coefficients(record)
    # What was promised stands before all figures: it is what a privacy officer reads for.
    # Its questions follow, which a privacy officer answers: long tables come after them.
    parts = [_summary(record, _entry(record, book), title), picture, _guarantee(record, book), _checklist(record)]
    parts += [f"<h2>All coefficients</h2>\n{tables}"] * bool(tables)
    parts += [answers, _data(record), _ledger(book, head), _method(record), _plan(record), _glossary(record)]
    parts.append(_reproduce(record, book))
    return _outside_of_code(unbroken, _with_list_of_parts([part for part in parts if part]))


def _with_list_of_parts(parts: Sequence[str]) -> str:
    """Return all parts, below the first the list of the others, each a way to its heading."""
    listed, marked = [], list(parts[:1])
    for at, part in enumerate(parts[1:], 1):
        heading = re.match(r'<h2(?: id="([a-z]+)")?>(.*?)</h2>', part)
        if heading is None:
            marked.append(part)
            continue
        id = heading.group(1) or f"part-{at}"
        marked.append(f'<h2 id="{id}">{heading.group(2)}</h2>{part[heading.end() :]}')
        listed.append(f'<a href="#{id}">{heading.group(2)}</a>')
    marked.insert(1, f'<p class="note">In this report: {" · ".join(listed)}</p>')
    return "\n".join(marked)


def _outside_of_code(change: Callable[[str], str], text: str) -> str:
    """Return HTML changed except in commands and files, which are copied as they stand."""
    pieces = re.split(r"(<(?:pre|code)\b.*?</(?:pre|code)>)", text, flags=re.DOTALL)
    return "".join(piece if at % 2 else change(piece) for at, piece in enumerate(pieces))


def _entry(record: ReleaseRecord, account: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the spend of this release in the account; empty where it is in none."""
    key = record.get("ledger", {}).get("key")
    entries = [] if account is None else account["entries"]
    return next((entry for entry in entries if entry["key"] == key), {})


def _summary(record: ReleaseRecord, entry: Mapping[str, Any], title: str) -> str:
    alarm, unstated = disagreement_of(record), "" if entry.get("purpose") else ", and no purpose is stated"
    nobody = unprotected_words(float(of_person(record["guarantee"])["mu"]))
    if record["standing"] == "sound" and nobody:
        box = f'<p class="lab">{escape(nobody)}</p>'
    elif record["standing"] == "sound":
        may = "As far as privacy goes, this report may be published" if alarm else "This report may be published"
        also = f"<p>{escape(alarm)}</p>" if alarm else ""
        box = (
            f'<div class="{"lab" if alarm else "ok"}"><p>{may}: every figure in it is public, or was released by a '
            "mechanism whose guarantee is proved in the program's documentation "
            f"({escape(proof_words(record['method']))}; whoever made this report can hand these pages on, in the ZIP "
            "file beside it). What only people can confirm stands under "
            f'<a href="#{_QUESTIONS}">Questions about the guarantee</a>; its blanks are theirs to fill in{unstated}.'
            f"</p>{also}</div>"
        )
        alarm = ""
    else:
        reasons = escape("; ".join(record["standing_reasons"]))
        box = f'<p class="lab">For study only, not to be published: {reasons}.</p>'
    if alarm:
        box += f'\n<p class="lab">{escape(alarm)}</p>'
    at = entry.get("at", "")[:19].replace("T", " ") or str(record.get("date", "")) or "unknown"
    facts = [
        ("Made (UTC)" if ":" in at else "Made on", escape(at)),
        ("Purpose", escape(entry.get("purpose", "")) or "none was stated"),
        (
            "Data set",
            escape(record.get("ledger", {}).get("dataset", "")) or f"{escape(title) or 'without a name'}: in no ledger",
        ),
        ("What left the private rows", escape(_released_statistics(record))),
        *(
            [("Also left, in the file of the release (JSON) alone", escape("; ".join(unshown)))]
            if (unshown := _unshown(record))
            else []
        ),
        *(
            [(NAME, escape(truncation_of(record).removeprefix(f"{NAME}: ").replace("\xa0", " ")))]
            if record["guarantee"]["mu"]
            else []
        ),
        ("Computed by", escape(str(record.get("software", "unknown")))),
    ]
    scale = SCALES.get(record["public"].get("family", ""), "")
    sign = " A positive coefficient makes it likelier." if record["public"].get("positive") else ""
    question = (
        f'<p class="note">Regression of {scale}{escape(_modelled(record))} on {_features(record)}.{sign}</p>\n{box}'
    )
    return question + "\n" + table("About this release", (), facts)


def _modelled(record: ReleaseRecord) -> str:
    """Return the modelled response, with the level of a label."""
    return modelled_response(str(record["target"]), record["public"].get("positive"))


def _features(record: ReleaseRecord) -> str:
    """Return the columns of the table that the features come from, with the number of levels of each category."""
    names = [name for name in record["coefficients"] if name != INTERCEPT]
    columns = Counter(source_column(name) for name in names)
    described = [name if many == 1 else f"{name} ({many + 1} levels)" for name, many in columns.items()]
    return escape(", ".join(described) if len(described) <= _MOST_NAMED else f"{len(described)} columns") or "nothing"


_MOST_NAMED = 20  # columns that a sentence can name; the tables have all


def _data(record: ReleaseRecord) -> str:
    rows = "unknown" if record["public_rows"] is None else f"{record['public_rows']:,}"
    unit = unit_of(record["guarantee"])
    private = ("persons in the private rows", record["n"] // unit.rows) if unit.column else ("private", record["n"])
    facts = [(private[0], f"{private[1]:,}"), ("public", rows)]
    return "<h2>Data</h2>\n" + table("Public numbers of rows", ("rows", "number"), facts)


def _released_statistics(record: ReleaseRecord) -> str:
    """List the statistics of private rows in the record: single figures by name, larger objects by their size."""
    if record["guarantee"]["mu"] == 0:
        return "nothing: no private row was read"
    many = len(record["coefficients"])
    named = [plural(many, "coefficient") + (" with error bands" if record["bands"] else "")] if many else []
    titles = [*released_titles(record["released"]), *titles_behind(record)]
    return "; ".join([*named, *(one for one in titles if one not in _unshown(record))])


def _unshown(record: Mapping[str, Any]) -> list[str]:
    """Return the titles of objects that are too large for the report, and are only in the record."""
    large = {name: value for name, value in record["released"].items() if not isinstance(value, int | float)}
    titles = released_titles({name: value for name, value in large.items() if name != _SPECTRUM})
    return [*titles, *titles_behind_bands(record)]


# Name of the spectrum of a whitened moment among the released figures.
_SPECTRUM = "after_whitening"


def _figures(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the single figures among fields, shares of truncated rows apart, under their titles."""
    spectrum = {name: value for name, value in fields.get(_SPECTRUM, {}).items() if name in TITLES}
    return [
        (escape(title(name)), number(value))
        for name, value in {**fields, **spectrum}.items()
        if isinstance(value, int | float) and name not in SOURCES
    ]


def _plan(record: ReleaseRecord) -> str:
    """Return the public figures that the plan chose, for readers who repeat or check the release."""
    facts = [(NAME, escape(share.words)) for share in truncated_shares(record["public"])] + _figures(record["public"])
    if not facts:
        return ""
    return "<h2>Figures of the plan</h2>\n" + table(
        "For specialists: chosen from public figures before a private row was read; lengths in whitened units",
        ("figure", "value"),
        facts,
    )


def _method(record: ReleaseRecord) -> str:
    entry = method(record["method"])
    errata = f" Published errata repaired here: {', '.join(entry.origin.errata)}." if entry.origin.errata else ""
    return (
        f"<h2>Method</h2>\n<p>{escape(entry.title)} (<code>{escape(entry.id)}</code>), {escape(source(entry.id))}. "
        f"{escape(entry.summary)}{escape(errata)}</p>"
    )


def _protected_unit(guarantee: Mapping[str, Any], sound: bool) -> str:
    """Return the unit of protection, in words.

    Args:
        guarantee: of the record.
        sound: whether the figures may leave; those of a lab may come from a private table split for study.
    """
    unit = unit_of(guarantee)
    sized = "people" if unit.column else "rows"
    more = "" if unit.rows == 1 else " The words above are for all of them."
    # A guarantee for rows says itself how many of them one person may have.
    words = unit.words if unit.column or unit.rows > 1 else ""
    others = "; they are taken to be other rows, chosen without a look at the private ones" if sound else ""
    return f"The number of {sized} is public. The public rows are not protected{others}. {escape(words)}{more}"


def _guarantee(record: ReleaseRecord, account: Mapping[str, Any] | None) -> str:
    g = of_person(record["guarantee"])
    note = person_note(record["guarantee"])
    facts = [
        ("mu (Gaussian differential privacy)", number(g["mu"])),
        ("rho (zero-concentrated)", number(g["rho"])),
        (f"epsilon at delta = {power_of_ten(g['delta'])}", number(g["epsilon"])),
        *([("these figures are", escape(note))] if note else []),
    ]
    whom = _protected_unit(record["guarantee"], record["standing"] == "sound")
    assumptions = f"{whom} The noise was drawn from the operating system's entropy."
    if record["seed"] is not None:
        assumptions = "The noise came from a seed that can be repeated: whoever knows it can remove the noise."
    return (
        f"<h2>What was promised</h2>\n<p>{escape(record['guarantee_in_words'])}</p>\n"
        f'{_total_guarantee(account)}{_attacked(record)}<p class="note">{assumptions}</p>\n'
        + table("The guarantee in three units", (), facts)
        + curve(float(g["mu"]))
        + _example(float(g["mu"]), account, "row" if unit_of(record["guarantee"]).rows == 1 else "person")
        + _deployments(record)
    )


def _attacked(record: ReleaseRecord) -> str:
    """Return the lower bound of the strongest attack on the method; empty without an attack or without a spend."""
    audits, at = latest_record(), record["method"]
    if record["guarantee"]["mu"] == 0 or audits is None or at not in audits.audits:
        return ""
    one = audits.audits[at]
    verdict = "disproves" if one.violated else "would have disproved"
    return (
        f"<p>Beside the proof the method itself, not this release, was attacked with {one.trials:,} releases of two "
        f"tables that are built to be told apart ({escape(audits.computed)}). The strongest attack showed with "
        f"{percent(one.confidence, 3)} confidence that mu is not below {rounded(one.lower_bound)}; a figure above "
        f"{rounded(one.claimed)} {verdict} the claim.</p>\n"
    )


def _example(mu: float, account: Mapping[str, Any] | None, unit: str) -> str:
    """Return, folded, the odds on two other scales; empty where nothing was spent."""
    if mu == 0:
        return ""
    odds = strength(mu)
    together = ""
    if account is not None and len(account["entries"]) > 1:
        share = percent(strength(float(account["spent"]["mu"])).right_guesses, 3)
        together = f" With all releases of this data set they do so in at most {share} of all trials."
    return (
        "<details><summary>The same odds on other scales</summary>\n"
        f"<p>{odds.sentence}\n"
        f"For example, somebody knows every {unit} but one, of which two versions are possible, both equally likely. "
        f"With this report they name the right one in at most {percent(odds.right_guesses, 3)} of all trials; without "
        f"it, in 50 %.{together}</p>\n</details>\n"
    )


def _deployments(record: ReleaseRecord) -> str:
    """Return the table of published deployments, below this release."""
    g, unit = of_person(record["guarantee"]), unit_of(record["guarantee"])
    protects = "one person" if unit.column else "one row" if unit.rows == 1 else f"a person with up to {unit.rows} rows"
    epsilon, every = number(g["epsilon"]), beside_deployments(float(g["mu"]))
    this_release = ("<b>this release</b>", epsilon, power_of_ten(g["delta"]), epsilon, protects)
    relation = Neighbours(g["neighbours"])
    if not g["delta"]:  # a pure epsilon holds at every delta
        every = [one | {"this release at that delta": epsilon} for one in every]
    rows = [*[this_release] * (g["mu"] > 0), *(tuple(_unbroken_number(text) for text in one.values()) for one in every)]
    beside = table("This budget beside those of published deployments", tuple(every[0]), rows)
    return beside + f'<p class="note">{ReportWords.RELATIONS.sentence()}</p>' * (relation is Neighbours.REPLACE_ONE)


def _coefficients(record: ReleaseRecord) -> tuple[str, str]:
    """Return the picture of the coefficients under its heading, and their tables with all notes."""
    bands = record["bands"]
    parts = [p for p in _PARTS if any(p in band for band in bands.values())]
    zero_one = record["public"].get("zero_one", ())
    by_name = steps(list(record["coefficients"]), record["public"].get("spread", []), zero_one)
    ratio = RATIOS.get(record["public"].get("family", ""), "")
    rows, drawn = [], False
    for name, value in record["coefficients"].items():
        band = bands.get(name)
        more = [rounded(band[part], 2) if band and part in band else "" for part in parts]
        limited_value = _with_limits(value, band, 1.0, ratio)
        if ratio and name == INTERCEPT:  # its exponential is the odds where every column is 0, and no ratio
            limited_value = (*limited_value[:-1], _NOT_APPLICABLE)
        for_step: tuple[str, ...] = (_NOT_APPLICABLE,) * (2 + bool(ratio))
        if band and name != INTERCEPT and (by := by_name.get(name)):
            drawn, for_step = True, _with_limits(value, band, by, ratio)
            if by == 1:  # a category, or 0 and 1: both rows would have the same figures
                limited_value = ("as for a step", *("",) * (len(limited_value) - 1))
        rows.append((escape(name), *for_step, *limited_value, *more))
    if not rows:
        return "<h2>Released</h2>\n<pre>" + escape(json.dumps(record["released"], indent=1)[:20_000]) + "</pre>", ""
    limited = [
        (value, bands[name]["low"], bands[name]["high"])
        for name, value in record["coefficients"].items()
        if name in bands
    ]
    remarks = [penalty_words(record["public"].get("penalty"), record["public"].get("prior_sd")), *record["notes"]]
    if limited:
        remarks.insert(0, off_centre_words(*np.array(limited, dtype=float).T))
    notes = "".join(f"<li>{escape(note)}</li>" for note in remarks if note)
    notes = f'<ul class="note">{notes}</ul>' if notes else ""
    extra = [(NAME, escape(share.words)) for share in truncated_shares(record["released"])]
    extra += _figures(record["released"])
    times = (f"{ratio}, with its band",) * bool(ratio)
    steps_of = ("change for a step", "95 % band", *times) if drawn else ()
    if not drawn:
        rows = [(row[0], *row[3 + bool(ratio) :]) for row in rows]
    head = ("coefficient", *steps_of, "for one unit", "95 % band", *times, *(f"{part} sd" for part in parts))
    left_out = few_words([name for name in record["coefficients"] if name in bands and name != INTERCEPT])
    step = step_words(record["coefficients"], zero_one)
    note = f"{escape(ReportWords.PER_STEP.sentence(change=step))} {left_out}"
    picture = f'<p class="note">{note}</p>{forest(record)}' if drawn else ""
    return (
        f"<h2>Coefficients</h2>\n{picture}",
        table(f"{_IN_UNITS}{f'. A step: {step}' if drawn else ''}", head, rows)
        + ("" if bands else '<p class="note">This method gives no error bands.</p>')
        + notes
        + (table("Released beside them, at no further cost", ("figure", "value"), extra) if extra else ""),
    )


def _with_limits(value: float, band: Mapping[str, float] | None, by: float, ratio: str) -> tuple[str, ...]:
    """Write a coefficient times a step, its limits, and their exponentials where these are ratios."""
    if band is None:
        return (number(by * value), "", *("",) * bool(ratio))
    three = by * value, by * band["low"], by * band["high"]
    shown, low, high = with_equal_decimals(*three)
    if not ratio:
        return shown, f"{low} to {high}"
    with np.errstate(over="ignore"):
        times, least, most = _ratios([float(each) for each in np.exp(three)])
    return shown, f"{low} to {high}", f"{times} ({least} to {most})"


def _ratios(three: list[float]) -> list[str]:
    """Write a ratio and its limits; near 1 with enough digits to distinguish an effect from none.

    A limit is written as 1 only where it is 1, so that a reader sees on which side of 1 it lies.
    """
    written, half = [rounded(each) for each in three], (three[2] - three[1]) / 2
    unclear = len(set(written)) < len(written) or any(
        _rounded_to_one(*each) for each in zip(three, written, strict=True)
    )
    if unclear and three[1] > 0.5 and three[2] < 2 and half > _EQUAL_TOLERANCE:
        places = 1 - math.floor(math.log10(half))
        written = [f"{each:.{places}f}" for each in three]
    for at in (1, 2):
        if _rounded_to_one(three[at], written[at]):
            written[at] = rounded(three[at], 1 - math.floor(math.log10(abs(three[at] - 1))))
    return written


def _rounded_to_one(ratio: float, written: str) -> bool:
    """Return whether a ratio that is not 1 is written as 1."""
    return re.fullmatch(r"1(\.0+)?", written) is not None and abs(ratio - 1) > _EQUAL_TOLERANCE


_NOT_APPLICABLE = "\N{EN DASH}"  # the intercept has no step, and its exponential is no ratio
_IN_UNITS = (
    "Standard errors by part are for one unit of the feature. The 95 % band is that of all parts together: its "
    "half-width is the root of the sum of their squares, times a quantile of Student's distribution above 1.96"
)
_NO_LEDGER = "This report was made without a ledger: what was released from these rows before is not known here."


def _total_guarantee(account: Mapping[str, Any] | None) -> str:
    """Return the total guarantee of all releases of a data set; empty where there is one, or no ledger."""
    if account is None or len(account["entries"]) < 2:
        return ""
    odds = strength(float(account["spent"]["mu"]))
    return (
        f"<p>Of this data set there are {len(account['entries'])} spends in the ledger. Who has all these releases "
        f"rightly says the second in at most {percent(odds.detections, 3)}.</p>\n"
    )


def _ledger(account: Mapping[str, Any] | None, head: str | None) -> str:
    if account is None:
        return f"<h2>Ledger</h2>\n<p>{_NO_LEDGER}</p>"
    rows = [
        (escape(e["at"][:19]), escape(e["method"]), number(e["mu"]), escape(e["state"]), escape(e["purpose"]))
        for e in account["entries"]
    ]
    spent, cap = account["spent"], account["cap"]
    words = (
        f"Data set {escape(account['dataset'])}: spent in all mu = {number(spent['mu'])} "
        f"(epsilon = {number(spent['epsilon'])} at delta = {power_of_ten(spent['delta'])}), "
        + ("no cap." if cap is None else f"cap {number(cap)}, left for one more release: {number(account['left'])}")
        + ("" if cap is None else f"{root_words(cap, spent['mu'])}.")
        + (" Squares of mu add up." if cap is not None or len(account["entries"]) > 1 else "")
    )
    words = f"{words} {only_responses(spent)}".strip()
    mark_words = "" if not head else escape(MARK.format(mark=short_mark(head)))
    mark = f'<p class="note">{mark_words} <code>{escape(head)}</code></p>' if head else ""
    return (
        f"<h2>Ledger</h2>\n<p>{words}</p>\n"
        + table("Spends", ("time (UTC)", "method", "mu", "state", "purpose"), rows)
        + mark
    )


def _checklist(record: ReleaseRecord) -> str:
    rows = [(escape(question), escape(answer)) for question, answer in checklist(record)]
    return (
        f'<h2 id="{_QUESTIONS}">Questions about the guarantee</h2>\n'
        '<p class="note">After NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees.</p>\n'
        + table("Answers for this release", ("question", "answer"), rows).replace("<table>", '<table class="words">')
    )


_WORDS = {"papers", "mu", "rho", "epsilon", "delta", "neighbours", "whitening"}
_PARTS = ("privacy", "sampling", "truncation")


def _glossary(record: ReleaseRecord) -> str:
    parts = {f"{part}_sd" for band in record["bands"].values() for part in band if part in _PARTS}
    rows = [(escape(term.name), escape(term.words)) for term in glossary.entries(_WORDS | parts)]
    return "<h2>Words</h2>\n" + table("Glossary", ("word", "meaning"), rows).replace("<table>", '<table class="words">')


def _reproduce(record: ReleaseRecord, account: Mapping[str, Any] | None) -> str:
    cap = cap_command(record, (account or {}).get("cap") or START_CAP)
    first = '<p class="note">A ledger that is new asks for a cap first:</p>\n' if cap else ""
    first += f"<pre>{_unbroken(cap)}</pre>\n" if cap else ""
    return (
        '<h2>How to ask for the same again</h2>\n<p class="note">A repetition draws new noise and spends again. The '
        "file request.json:</p>\n"
        f"<pre>{escape(json.dumps(configuration(record), indent=1))}</pre>\n{_automatic_parameters(record)}{first}"
        f'<p class="note">The release, with the names of your own files:</p>\n<pre>{_unbroken(command(record))}</pre>'
    )


def _automatic_parameters(record: ReleaseRecord) -> str:
    """Say which parameters the plan chose, with their values where these are single figures."""
    chosen = []
    for item in dataclasses.fields(method(record["method"]).parameters):
        figure = item.metadata["automatic"]
        if figure is not None and record["parameters"].get(item.name) == 0:
            value = record["public"].get(figure)
            chosen.append(f"{item.name}: automatic" + ("" if value is None else f" ({number(value)} in this release)"))
    return f'<p class="note">0 stands for {escape("; ".join(chosen))}.</p>\n' if chosen else ""


def _unbroken_number(text: str) -> str:
    """Return a cell, escaped, whose negative exponent no line divides."""
    return f'<span class="option">{text}</span>' if re.fullmatch(r"[\d.]+e-\d+", text) else escape(text)


def _unbroken(words: str) -> str:
    """Return a command, escaped, whose options no line divides: the half of one is another command."""
    return re.sub(r"(?<= )(--[a-z-]+)", r'<span class="option">\1</span>', escape(words))
