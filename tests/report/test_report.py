"""The report: self-contained, well-formed, readable, and without a private figure."""

from __future__ import annotations

import base64
import html
import io
import json
import re
import shlex
import xml.etree.ElementTree as ET
import zipfile
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from pmtcore.accounting.budgets import Budget, epsilon_from_mu
from pmtcore.auditing.audits import latest_record
from pmtcore.auditing.comparison import Comparison, rescaled_problem
from pmtcore.base.distributions import student
from pmtcore.base.exports import PrivateFigureError
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, ReleaseNote, ReportWords
from pmtcore.base.numbers import percent, rounded, unbroken, with_equal_decimals
from pmtcore.base.private_rows import Curator, Private
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.methods.registry import methods, methods_for
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.planning import predict_method
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request, recorded_release, release
from pmtcore.report import deployment, reproduce, rows
from pmtcore.report.checklist import checklist, proof_words
from pmtcore.report.downloads import FiledRelease
from pmtcore.report.html import _with_limits, embedded_report, file_name, report
from pmtcore.report.statistics import NAME, TITLES, disagreement_of, truncation_of
from pmtcore.tables.choices import Choices
from pmtcore.tables.named import entry, load
from pmtcore.tables.problem import default_choices, prepare

VOID = {"meta", "rect", "line", "polyline", "circle"}


class Balanced(HTMLParser):
    """Every tag that opens closes, in order; collects references."""

    def __init__(self):
        super().__init__()
        self.open, self.references, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.references += [value for name, value in attrs if name in {"src", "href", "action", "data", "srcset"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.references += [value for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.fixture(scope="module")
def problem():
    private, public, _ = load("demo", n=800, m=80, d=4)
    return prepare(private, public, default_choices(private, public))


@pytest.mark.parametrize("id", ["joint-pmt", "pmt-moment", "pmt-ridge", "public-only"])
def test_it_is_well_formed_and_refers_to_nothing(problem, id, tmp_path):
    """Balanced tags, a language, a title, captions on tables, labels on drawings, no external reference."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 1.0)
    text = report(
        recorded_release(problem, Request(id, Budget(1.0)), SecureNoise(), ledger, dataset="survey", key="k").as_dict()
    )
    parser = Balanced()
    parser.feed(text)
    assert not parser.open and all(f'id="{one[1:]}"' in text for one in parser.references), "its own parts alone"
    assert not re.search(r"https?://|@import|url\(|<script", text)
    assert '<html lang="en">' in text and "<title>" in text
    assert len(re.findall("<table[ >]", text)) == text.count("<caption>")
    assert text.count("<svg") == len(re.findall(r'role="img"\s+aria-label="', text))
    assert "may be published" in text


@pytest.mark.parametrize(
    ("id", "name", "public"),
    [
        ("pmt-gradients", "passes", "gradient_passes"),
        ("joint-pmt", "radius", "radius"),
        ("napp-public", "bound", None),
        ("dp-erm", "bound", None),
    ],
)
def test_an_automatic_parameter_is_told_with_the_figure_of_its_plan(problem, id, name, public):
    """Its own figure or none: a bound on residuals is not the bound of the score, whose name ends alike."""
    record = release(problem, Request(id, Budget(1.0)), SeededNoise(1, 1)).as_dict()
    (told,) = re.findall(rf"\b{name}: automatic(?: \(([^ )]+) in this release\))?", report(record))
    assert told == ("" if public is None else rounded(record["public"][public], 4))


def test_colours_have_enough_contrast():
    """Text on its background: at least 4.5 to 1 (WCAG AA)."""
    from pmtcore.report import html as module

    pairs = [("#1a1d21", "#ffffff"), ("#444a52", "#ffffff"), ("#ffffff", "#7a1f1f"), ("#ffffff", "#0b4f3a")]
    pairs += [("#1a1d21", "#f3f4f6")]
    for front, back in pairs:
        assert front in module._STYLE.replace("#fff;", "#ffffff;").replace("#fff}", "#ffffff}") or front == "#ffffff"
        light, dark = sorted((luminance(front), luminance(back)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (front, back)


def test_methods_can_be_seen_in_both_themes():
    """A line's colour differs from the dark background at least 2 to 1, and from the white one at least 1.3 to 1."""
    for one in methods():
        assert (luminance(one.colour) + 0.05) / (luminance("#181715") + 0.05) >= 2, one.id
        assert 1.05 / (luminance(one.colour) + 0.05) >= 1.3, one.id


def test_it_says_what_was_released(problem):
    """Every coefficient, its limits and the guarantee of the record are in the text; a seed makes a lab report."""
    record = release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(3)).as_dict()
    text = report(record)
    for name, value in record["coefficients"].items():
        band = record["bands"][name]
        shown, low, high = with_equal_decimals(value, band["low"], band["high"])
        assert f">{shown}<" in text and f"{low} to {high}" in text and name in text
    assert f"{record['guarantee']['epsilon']:.4g}" in text
    assert "not to be published" in text and "seed" in text


def test_names_cannot_inject(problem):
    """A column name with markup is text."""
    record = release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise()).as_dict()
    evil = "<script>alert(1)</script>"
    record["coefficients"] = {evil: 1.0}
    record["bands"], record["target"] = {}, evil
    assert "<script" not in report(record)


def test_on_a_page_its_drawings_are_images(problem):
    """A page leaves inline drawings out: each is an image with the same words and marks, and nothing else changes."""
    record = release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise()).as_dict()
    complete, page = report(record), embedded_report(record)
    drawings = re.findall(r"<svg .*?</svg>", complete, re.DOTALL)
    images = re.findall(r'<img[^>]* alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">', page)
    assert len(drawings) == len(images) == 2 and "<svg" not in page
    for drawing, (label, data) in zip(drawings, images, strict=True):
        assert f'aria-label="{label}"' in drawing and label
        assert base64.b64decode(data).decode().endswith(drawing.removeprefix("<svg "))


def test_a_private_figure_is_refused(problem):
    """The record passes the gate of every export."""
    record = release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise()).as_dict()
    with pytest.raises(PrivateFigureError):
        report({**record, "released": {"rate": Private(4711.25)}})


def test_it_comes_again_from_the_ledger(problem, tmp_path, capsys):
    """The report command makes the same report from the ledger, with the account and the head."""
    url = str(tmp_path / "l.db")
    ledger = Ledger(url)
    ledger.cap("survey", 3.0)
    recorded = recorded_release(
        problem, Request("joint-pmt", Budget(1.0)), SecureNoise(), ledger, dataset="survey", key="k", purpose="why not"
    )
    out = tmp_path / "r.html"
    assert main(["report", "--ledger", url, "--key", "k", "--html", str(out)]) == 0
    text = out.read_text()
    assert text == report(recorded.as_dict(), ledger.account("survey").as_dict(), ledger.verify()["head"])
    assert "why not" in text and ledger.verify()["head"] in text
    (tmp_path / "r.json").write_text(json.dumps(recorded.as_dict()))
    assert main(["report", "--release", str(tmp_path / "r.json"), "--html", str(out)]) == 0
    assert main(["report", "--ledger", url, "--key", "other", "--html", str(out)]) == 2
    assert "no release" in capsys.readouterr().err
    (tmp_path / "r.json").write_text("{}")
    assert main(["report", "--release", str(tmp_path / "r.json"), "--html", str(out)]) == 2


def test_labels_have_a_report():
    """A logistic release makes one too."""
    private, public, _ = load("demo-labels", n=800, m=80, d=3)
    problem = prepare(private, public, entry("demo-labels").choices)
    assert "pmt-objective" in report(release(problem, Request("pmt-objective", Budget(1.0)), SecureNoise()).as_dict())


@pytest.fixture(scope="module")
def filed(problem, tmp_path_factory):
    """Return a release that is in a ledger, and its account."""
    ledger = Ledger(str(tmp_path_factory.mktemp("book") / "l.db"))
    ledger.cap("survey", 3.0)
    request = Request("joint-pmt", Budget(1.0))
    recorded = recorded_release(
        problem, request, SecureNoise(), ledger, dataset="survey", key="k", purpose="a question"
    )
    return recorded.as_dict(), ledger.account("survey").as_dict(), ledger.verify()["head"]


def test_the_proofs_that_a_report_names_are_handed_on_with_it(filed):
    """One file has the report, the record and the pages; the same release is packed into the same bytes."""
    release = FiledRelease(filed[0])
    with zipfile.ZipFile(io.BytesIO(release.archive())) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    assert release.archive() == release.archive()
    assert members["report.html"] == release.report() and json.loads(members["record.json"]) == filed[0]
    assert members["coefficients.svg"].startswith("<svg xmlns=") and ET.fromstring(members["coefficients.svg"])
    pages = {name.removeprefix("proofs/") for name in members if name.startswith("proofs/")}
    assert pages == set(re.findall(r"\w+\.md", proof_words(filed[0]["method"])))
    assert all(members[f"proofs/{page}"].startswith("# ") for page in pages)


def test_no_archive_takes_a_private_figure(filed):
    """Neither its report nor its record is made of one."""
    with pytest.raises(PrivateFigureError):
        FiledRelease({**filed[0], "released": {"rate": Private(4711.25)}}).archive()


def test_a_stakeholder_finds_what_to_sign(filed):
    """Date, purpose, data set, ledger extract, all parts of the bands, words, and the questions to a guarantee."""
    text = report(*filed)
    for wanted in ("Made (UTC)", "a question", "survey", "truncation sd", "Glossary", "NIST SP 800-226"):
        assert wanted in text
    for question, _ in checklist(filed[0]):
        assert question in text
    assert "published deployments" in text and text.count("wrongly say the second in 5\u00a0%") == 1
    assert "5 coefficients with error bands; variance of the residuals" in text, "what left, in one place"
    public_facts = text.partition("Public facts")[2].partition("</table>")[0]
    assert "released" not in public_facts, "what was computed from private rows is no public fact"
    assert "69.2\u00a0% of all trials" in text, "the normal distribution function at mu/2 = .5"
    lonely = report({**filed[0], "ledger": {}}, None)
    assert "without a ledger" in lonely and "none was stated" in lonely


def test_the_command_reproduces(filed, problem, tmp_path, capsys):
    """The report's command and configuration, typed in, make a release with the same request and choices."""
    record = {**filed[0], "seed": 3}
    words = shlex.split(reproduce.command(record))[3:]
    private, public, _ = load("demo", n=800, m=80, d=4)
    for role, table in (("private", private), ("public", public)):
        table.frame.to_csv(tmp_path / f"{role}.csv", index=False)
    (tmp_path / "request.json").write_text(json.dumps(reproduce.configuration(record)))
    words = [str(tmp_path / w) if w in ("private.csv", "public.csv", "request.json") else w for w in words]
    assert main([*words, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["guarantee"] == record["guarantee"] and again["parameters"] == record["parameters"]
    assert list(again["coefficients"]) == list(record["coefficients"])


def test_a_new_ledger_is_given_its_cap_first(filed, tmp_path, monkeypatch, capsys):
    """The commands of a report, typed in one after the other where there is no ledger yet, spend and release."""
    record = filed[0]
    text = report(record, {**filed[1], "cap": 2.5}, filed[2])
    assert reproduce.cap_command(record, 2.5) in html.unescape(re.sub("</?span[^>]*>", "", text))
    private, public, _ = load("demo", n=800, m=80, d=4)
    for role, table in (("private", private), ("public", public)):
        table.frame.to_csv(tmp_path / f"{role}.csv", index=False)
    (tmp_path / "request.json").write_text(json.dumps(reproduce.configuration(record)))
    monkeypatch.chdir(tmp_path)
    for line in (reproduce.cap_command(record), reproduce.command(record)):
        assert main(shlex.split(line)[3:]) == 0, capsys.readouterr()
    assert reproduce.cap_command({**record, "seed": 1}) == ""


def test_the_command_carries_every_choice():
    """Each field of the choices that is not the usual one is in the command, so that it asks for the same."""
    given = {
        "target": "y", "family": "logistic", "features": ["a", "b"], "intercept": False, "missing": "public-median",
        "unseen": "refuse", "levels": {"a": ["u", "v"]}, "public_ridge": 0.1, "lam": 0.2, "positive": "yes",
        "kinds": {"b": "number"}, "collinear": "refuse", "overlap": "the same survey", "person": "id",
        "person_rows": 3, "person_rule": "mean",
    }  # fmt: skip
    assert set(given) == set(Choices(target="y").as_dict()), "a new choice is to be carried too"
    record = {"target": "y", "public": {"family": "logistic", "choices": given}, "seed": 1}
    words = reproduce.command(record)
    for part in ("--kind b=number", "--collinear refuse", "--person id", "--person-rule mean", "--overlap", "'a=u|v'"):
        assert part in words
    for flag in ("--no-intercept", "--missing", "--unseen", "--public-ridge", "--lam", "--positive", "--features"):
        assert flag in words
    promise = {"mu": 1.0, "delta": 1e-6, "rows_per_person": 3}
    more = {**record, "method": "pmt-ridge", "parameters": {}, "guarantee": promise}
    assert reproduce.configuration(more)["rows_per_person"] == 3
    assert "kinds={'b': 'number'}" in reproduce.script(more) and "person='id'" in reproduce.script(more)


@pytest.mark.parametrize(("mu", "protected"), [(0.0, True), (1.0, True), (5.0, False), (1000.0, False)])
def test_a_report_of_a_budget_that_protects_nobody_does_not_call_for_publication(filed, mu, protected):
    """The first sentence of a report is the one that is read."""
    record = filed[0]
    page = report({**record, "standing": "sound", "guarantee": {**record["guarantee"], "mu": mu}})
    assert ("This report may be published" in page) is protected
    assert ("protects nobody" in page) is not protected


def test_script_and_notebook_run(filed, tmp_path, monkeypatch):
    """Both are code that runs as it is, through the package's face, and asks for the same."""
    private, public, _ = load("demo", n=800, m=80, d=4)
    private.frame.to_csv(tmp_path / "private.csv", index=False)
    public.frame.to_csv(tmp_path / "public.csv", index=False)
    monkeypatch.chdir(tmp_path)
    record = {**filed[0], "seed": 3}
    without = {name: field for name, field in record.items() if name != "ledger"}
    assert ["the ledger counts it" in reproduce.script(one) for one in (filed[0], without)] == [True, False]
    result: dict = {}
    exec(compile(reproduce.script(record), "script", "exec"), result)
    again = result["result"].release.as_dict() if hasattr(result["result"], "release") else result["result"].record
    assert again["guarantee"]["mu"] == record["guarantee"]["mu"]
    assert set(again["coefficients"]) == set(record["coefficients"])
    book = json.loads(reproduce.notebook(record))
    assert book["nbformat"] == 4 and [cell["cell_type"] for cell in book["cells"]][:2] == ["markdown", "code"]
    code = "\n".join(cell["source"] for cell in book["cells"] if cell["cell_type"] == "code")
    exec(compile(code, "notebook", "exec"), {})


def test_a_plan_and_a_comparison_run_as_scripts(tmp_path, monkeypatch):
    """What Plan and Compare show, asked for through the package's face: the very same figures."""
    private, public, _ = load("demo", n=800, m=80, d=4)
    private.frame.to_csv(tmp_path / "private.csv", index=False)
    public.frame.to_csv(tmp_path / "public.csv", index=False)
    monkeypatch.chdir(tmp_path)
    made = prepare(private, public, Choices(target="y", features=("x1", "x2")))
    recipe = reproduce.plan_again(made.choices.as_dict(), 800, "pmt-ridge", 2.0)
    result: dict = {}
    exec(compile(recipe.script, "plan", "exec"), result)
    frame = result["result"].frame()
    here = predict_method(made.public, 800, "pmt-ridge", 2.0)
    assert np.isclose(frame["privacy_sd"].to_numpy(), here.prediction.privacy).all()
    asked = {"methods": ["pmt-ridge"], "mu": [0.5, 2.0], "trials": 5, "seed": 3, "scale": "z"}
    exec(compile(reproduce.compare_again(made.choices.as_dict(), **asked).script, "compare", "exec"), result)
    run = Comparison(rescaled_problem(made, "z"), ["pmt-ridge"], [0.5, 2.0], trials=5, seed=3).run()
    errors = [one.error_median for one in run.summaries().reveal(Curator("test: synthetic rows"))]
    assert result["result"].frame["error_median"].tolist() == pytest.approx(errors)


def test_the_registry_entry_is_yaml(filed):
    """The draft parses, has the registry's fields, and marks what only the publisher knows."""
    yaml = pytest.importorskip("yaml")
    entries = yaml.safe_load(deployment.entry(filed[0], "2026-11-22T10:00:00", "a question"))
    assert (entries["tier"], entries["status"]) == (3, "Draft")
    parts = entries["deployment"]
    assert {"product", "dp_flavor", "privacy_loss", "model", "accounting", "implementation"} <= set(parts)
    assert parts["privacy_loss"]["privacy_parameters"]["mu"] == 1.0
    assert parts["product"]["publication_date"] == "2026-11-22" and parts["product"]["data_curators"] == ["TODO"]
    evil = deployment.entry({**filed[0], "target": 'a: "b"\n- c'}, "", "#x: {")
    assert yaml.safe_load(evil)["deployment"]["product"]["intended_use"] == "#x: {"


def test_the_checklist_follows_the_record(filed):
    """Seeded noise, no ledger and a weak budget are said in their places."""
    record = filed[0]
    said = dict(checklist(record))
    assert "ledger" in said["Composition"] and "Exact discrete" in said["Randomness and floating point"]
    weak = {**record, "seed": 1, "guarantee": {**record["guarantee"], "mu": 9.0}}
    weak.pop("ledger")
    said = dict(checklist(weak))
    assert "repeated" in said["Randomness and floating point"] and "not known" in said["Composition"]
    assert "mu = 9" in said["Strength"]
    by_session = {
        dict(checklist({**record, **more}))["Unprotected quantities"].rpartition("yours to confirm. ")[2]
        for more in ({}, {"exact_figures_shown": True}, {"exact_figures_shown": False})
    }
    assert len(by_session) == 3  # not recorded by the command line, switched on, and not


@pytest.mark.parametrize("table", ["demo", "demo-labels"])
def test_each_released_statistic_has_a_title(table):
    """No method releases a figure beside its coefficients that readers would know by its short name alone."""
    private, public, _ = load(table, n=800, m=80, d=3)
    problem = prepare(private, public, entry(table).choices)
    for id in sorted(one.id for one in methods_for(problem.public)):
        try:
            released = release(problem, Request(id, Budget(1.0)), SeededNoise(1))
        except InputError:
            continue  # it asks for a declaration, or for other noise
        assert set(released.released) - {"names"} <= set(TITLES), id
        left = report(released.as_dict()).partition("What left the private rows")[2].partition("</tr>")[0]
        assert all(name not in left for name in released.released if "_" in name)


def test_categories_are_named_once_each(filed):
    """The question names each column of the table, a category with the number of its levels, whatever it is called."""
    names = {"(intercept)": 1.0, "age": 0.1, **{f"<town>=t{at}": 0.2 for at in range(30)}}
    bands = {name: {"privacy": 0.1, "sampling": 0.1, "low": -0.1, "high": 0.5} for name in names}
    spread = {**filed[0]["public"], "spread": [1.0] * len(names), "penalty": 0.01}
    text = report({**filed[0], "coefficients": names, "bands": bands, "public": spread})
    assert "on age, &lt;town&gt; (31 levels).</p>" in text
    drawn = text.partition('<svg class="rows"')[2].partition("</svg>")[0]
    assert drawn.count("<circle") == 2 and "clearest of 30 effects" in drawn
    assert "ridge penalty of 0.01" in text and "weak normal prior" not in text
    weak = report({**filed[0], "public": {**filed[0]["public"], "prior_sd": 2.5}})
    assert "weak normal prior" in weak and "ridge penalty" not in weak


def test_a_step_of_one_unit_has_its_figures_once(filed):
    """Of a feature that is 0 or 1 the change for a step and for one unit are one figure."""
    record, name = filed[0], next(name for name in filed[0]["bands"] if name != INTERCEPT)
    assert "as for a step" not in report(record)
    zero_one = {**record, "public": record["public"] | {"zero_one": [name]}}
    assert report(zero_one).count("as for a step") == 1


def test_a_lab_figure_names_its_table(filed):
    """The page knows the title of a known table; a record in no ledger does not."""
    record = {name: value for name, value in filed[0].items() if name != "ledger"}
    assert "Adult (UCI): in no ledger" in report(record, table="Adult (UCI)")
    assert "without a name: in no ledger" in report(record)


def test_a_share_says_what_it_does_to_the_coefficients(filed):
    """By the bands that a record has: a part of its own, the privacy part, or none; nothing where nothing is cut."""
    record = {**filed[0], "public": filed[0]["public"] | {"predicted_truncation_rate": 0.02}, "released": {}}
    assert "by their truncation sd" in truncation_of(record)
    bands = {
        name: {part: v for part, v in band.items() if part != "truncation"} for name, band in record["bands"].items()
    }
    assert "in their privacy sd" in truncation_of({**record, "bands": bands})
    assert "no bands to allow for it" in truncation_of({**record, "bands": {}})
    none = record["public"] | {"predicted_truncation_rate": 0.0}
    assert "biases" not in truncation_of({**record, "public": none})


def test_a_report_says_where_the_rows_are_unlike_the_public_ones(filed):
    """Whether figures may leave and whether they are of use are two answers; a record of before has none to give."""
    alarm = ReleaseNote.UNLIKE_OR_FALSE_ALARM.sentence()
    assert not disagreement_of(filed[0]) and alarm not in report(filed[0])
    bands, fit = filed[0]["bands"], list(filed[0]["public"]["public_fit"])
    names = [name for name in bands if name != INTERCEPT][:3]
    for name, times in zip(names, (10, 20, 5), strict=True):
        fit[list(bands).index(name)] = bands[name]["high"] + times * (bands[name]["high"] - bands[name]["low"])
    unlike = {**filed[0], "rows_disagree": True, "public": {**filed[0]["public"], "public_fit": fit}}
    assert f"most for {names[1]}, {names[0]} and {names[2]}" in disagreement_of(unlike)
    fit[list(bands).index(INTERCEPT)] = bands[INTERCEPT]["high"] + 90.0
    unlike["public"]["public_fit"] = fit
    assert f"most for {names[1]}, {names[0]}" in disagreement_of(unlike)  # and not for the average level
    unlike["released"] = {**unlike["released"], "columns_that_differ": ["dose"]}  # columns before coefficients
    assert "most for dose." in disagreement_of(unlike)
    page = report(unlike)
    assert page.count(alarm) == 1 and 'class="ok"' not in page  # one box, and none that praises above it
    assert alarm in report({**unlike, "public": filed[0]["public"] | {"public_fit": None}})
    assert not Release.from_dict({name: v for name, v in filed[0].items() if name != "rows_disagree"}).disagrees
    assert Release.from_dict({**filed[0], "rows_disagree": True}).disagrees


def test_a_report_says_why_a_value_is_not_in_the_middle_of_its_band(filed):
    """Said where it is so, and nowhere else."""
    told = "the band is for the coefficient of the population"
    for aside in (False, True):
        bands = {
            name: {**filed[0]["bands"][name], "low": value - 1.0, "high": value + (1.5 if aside else 1.0)}
            for name, value in filed[0]["coefficients"].items()
        }
        assert (told in report({**filed[0], "bands": bands})) == aside


def test_several_releases_are_told_together(filed):
    """The odds of the sum stand where one release's are promised, and once; the rule beside the sum in the ledger."""
    account = {**filed[1], "entries": filed[1]["entries"] * 2, "spent": {**filed[1]["spent"], "mu": 2.0}}
    text = report(filed[0], account)
    assert "Squares of mu add up" in text and text.count("84.2\u00a0% of all trials") == 1
    assert text.index("What was promised") < text.index("has all these releases") < text.index(">Ledger</h2>")
    assert text.index("<details>") < text.index("84.2\u00a0% of all trials") < text.index("</details>")
    assert "spends in the ledger" not in report(*filed)
    for cap in (None, 3.0):  # what is left of a cap is no difference
        assert ("Squares of mu add up" in report(filed[0], {**filed[1], "cap": cap, "left": cap})) is (cap is not None)


def test_a_picture_of_very_many_columns_has_the_clearest():
    """Some forty rows in the table's order, and a sentence that says so; fewer are all there."""
    names, clear = [f"x{k}" for k in range(150)], np.arange(150.0)
    assert rows.few(names, clear) == [(k, f"x{k}") for k in range(110, 150)]
    assert "Of 150 columns the picture has the 40" in rows.few_words(names)
    assert len(rows.few(names[:30], clear[:30])) == 30 and not rows.few_words(names[:30])
    levels = [f"town={k}" for k in range(30)]
    assert rows.few(levels, clear[:30]) == [(29, "town=29 (clearest of 30 effects)")]
    assert rows.few_words(levels) == ReportWords.PICKED_LEVEL.sentence(picked="clearest")


def test_bands_of_picked_effects_hold_for_all_of_their_column():
    """Of 12 effects of 0 the clearest one's band misses 0 in at most 5 % of tries, where its own band often does."""
    rng, tries, effects, freedom = np.random.default_rng(1), 4000, 12, 9.0
    values = rng.standard_t(freedom, (tries, effects))
    half = student.isf(0.025, freedom)
    picked = values[np.arange(tries), np.argmax(np.abs(values), axis=1)]
    low, high = rows.for_all_effects(picked - half, picked + half, np.full(tries, effects), freedom)
    missed, before = int(np.sum((low > 0) | (high < 0))), int(np.sum(np.abs(picked) > half))
    # One in a million by a binomial law with 5 %.
    assert missed <= binom.isf(1e-6, tries, 0.05) < before
    unpicked = rows.for_all_effects(np.array([-1.0]), np.array([2.0]), [1], freedom)
    assert [float(end[0]) for end in unpicked] == [-1.0, 2.0]
    assert rows.effects_among([f"town={k}" for k in range(30)]) == [30] * 30
    assert rows.effects_among(["town=1", "town=2"]) == [1, 1]


def test_a_report_states_its_guarantee_before_its_tables(filed):
    """Who reads from the top meets what was promised before pages of figures."""
    short = report(*filed)
    assert (
        short.index(">Coefficients</h2>")
        < short.index(">What was promised</h2>")
        < short.index("Standard errors by part")
    )
    assert (
        short.index(">What was promised</h2>") < short.index('id="questions"') < short.index(">All coefficients</h2>")
    )
    parts = re.findall(r'<a href="#([a-z0-9-]+)">', short[: short.index(">Coefficients</h2>")])
    assert len(parts) > 8 and all(f'id="{part}"' in short for part in parts), "every part is listed at the top"
    assert short.index('href="#questions"') < short.index(">Coefficients</h2>")
    assert short.index("this release</b>") < short.index("US Census")
    private, public, _ = load("demo", n=2000, m=200, d=25)
    many = prepare(private, public, default_choices(private, public))
    text = report(release(many, Request("joint-pmt", Budget(1.0)), SeededNoise(1)).as_dict())
    assert (
        text.index('<svg class="rows"') < text.index(">What was promised</h2>") < text.index("Standard errors by part")
    )
    assert "taken to be other rows" in short and "taken to be other rows" not in text, "a lab figure's may be a split"


def test_a_report_states_one_scale_and_what_an_attack_reached(filed):
    """Odds on other scales are folded; the audit of the method and the pages of its proof are named."""
    record, account, _ = filed
    text = report(record, account)
    open_text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert "times as often as by guessing" not in open_text and "times as often as by guessing" in text
    one = latest_record().audits[record["method"]]
    assert f"with {unbroken(percent(one.confidence, 3))} confidence that mu is" in text, (
        "no bound of an attack is certain"
    )
    assert f"mu is not below {rounded(one.lower_bound)}; a figure above 1 would have disproved the claim" in text
    assert text.count(proof_words(record["method"])) == 2


def test_each_sound_method_names_the_pages_of_its_proof():
    """The pages exist, and the index of proofs has the method beside each of them, by its id or its group's."""
    folder = Path(__file__).parents[2] / "docs" / "proofs"
    lines = {line.split("](")[0].split("[")[-1]: line for line in (folder / "index.md").read_text().splitlines()}
    for one in methods():
        if one.standing is ReleaseStatus.SOUND:
            pages = re.findall(r"(\w+)\.md", proof_words(one.id))
            assert pages and "index" not in pages, one.id
            for page in pages:
                ids = re.findall(r"`([\w*-]+)`", lines[page])
                assert page == "baselines" or any(fnmatch(one.id, id) for id in ids), (one.id, page)


def test_a_report_names_all_that_left_and_a_share_as_a_share(filed):
    """The record's error bands, which no statistic names, and no name without "share of" among what left."""
    record, *_ = filed
    text = report(*filed)
    left = text[text.index("What left the private rows") : text.index("Computed by")]
    assert record["inference"] and left.count("covariance and degrees of freedom of the error bands") == 1
    assert NAME in left and "the bands allow for it" in left
    assert f"share of {NAME.lower()}" in left
    assert "degrees of freedom" not in report({**record, "inference": {}}, None)


def test_a_deployment_is_compared_at_its_own_delta(filed):
    """An epsilon at delta 1e-5 beside one at 1e-10 would flatter; a pure epsilon holds at every delta."""
    record, account, _ = filed
    text = report(record, account)
    rows = text[text.index("<b>this release</b>") : text.index(">All coefficients</h2>")]
    census = rounded(epsilon_from_mu(record["guarantee"]["mu"], 1e-10))
    assert census in rows and ">no epsilon there<" in rows
    pure = report({**record, "guarantee": {**record["guarantee"], "delta": 0.0, "epsilon": 0.77}}, account)
    assert pure.count(">0.77<") >= 4 and census not in pure


def test_a_glossary_explains_the_parts_that_a_report_has(filed):
    """No "truncation sd" where no band has one."""
    record, *_ = filed
    bands = record["bands"]
    without = {name: {part: v for part, v in band.items() if part != "truncation"} for name, band in bands.items()}
    assert "Truncation sd" not in report({**record, "bands": without}, None)
    some = {name: {**band, "truncation": 0.1} for name, band in bands.items()}
    assert "Truncation sd" in report({**record, "bands": some}, None)


def test_a_ratio_stands_beside_a_coefficient_that_is_a_logarithm():
    """Odds are what a reader of medicine asks for; of a mean there is no ratio, and its table has no such column."""
    private, public, reasons = load("demo-labels", n=2000, m=100, d=3)
    made = prepare(private, public, entry("demo-labels").choices, lab_reasons=reasons)
    record = release(made, Request("pmt-gradients", Budget(2.0)), SeededNoise(3)).as_dict()
    text, name = report(record), next(name for name in record["coefficients"] if name != "(intercept)")
    band, value = record["bands"][name], record["coefficients"][name]
    three = [rounded(float(np.exp(each))) for each in (value, band["low"], band["high"])]
    assert f"{three[0]} ({three[1]} to {three[2]})" in text and text.count("odds ratio, with its band") == 2


def test_a_ratio_near_one_keeps_the_digits_that_tell_it_from_one(problem):
    """An effect per euro is small: its odds ratio is never written as 1 with limits 1 and 1."""
    small = _with_limits(-3.84e-5, {"low": -4.94e-5, "high": -2.74e-5}, 1.0, "odds ratio")
    assert small[-1] == "0.999962 (0.999951 to 0.999973)"
    smaller = _with_limits(-3.84e-7, {"low": -4.94e-7, "high": -2.74e-7}, 1.0, "odds ratio")
    assert smaller[-1] == "0.99999962 (0.99999951 to 0.99999973)"
    assert _with_limits(1.46, {"low": 1.33, "high": 1.59}, 1.0, "odds ratio")[-1] == "4.31 (3.78 to 4.9)"
    assert _with_limits(0.0, {"low": 0.0, "high": 0.0}, 1.0, "odds ratio")[-1] == "1 (1 to 1)"


@pytest.mark.parametrize(
    ("three", "written"),
    [
        ((-0.0007, -0.00167, 0.00028), "0.99930 (0.99833 to 1.00028)"),
        ((-0.7, -1.5, 0.0007), "0.497 (0.223 to 1.0007)"),
        ((0.7, -0.0004, 1.5), "2.01 (0.9996 to 4.48)"),
        ((0.0, -0.4, 0.4), "1 (0.67 to 1.49)"),
        ((12.0, -2000.0, 20000.0), "163,000 (0 to infinite)"),
    ],
)
def test_a_limit_of_a_ratio_says_on_which_side_of_one_it_lies(three, written):
    """A limit of 1.00028 that is written as 1 leaves open whether the band holds 1."""
    value, low, high = three
    assert _with_limits(value, {"low": low, "high": high}, 1.0, "odds ratio")[-1] == written


def test_an_intercept_has_no_ratio():
    """Its exponential is the odds where every column is 0: of dates, in 1970."""
    private, public, reasons = load("demo-labels", n=2000, m=100, d=3)
    made = prepare(private, public, entry("demo-labels").choices, lab_reasons=reasons)
    record = release(made, Request("pmt-gradients", Budget(2.0)), SeededNoise(3)).as_dict()
    row = next(line for line in report(record).splitlines() if "(intercept)" in line)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
    assert cells[:3] == ["–"] * 3 and " to " in cells[4] and cells[5] == "–"


def test_two_files_can_be_told_apart_by_their_names(problem):
    """A name has the data set or the response, the method and the day, and nothing that a file system minds."""
    record = release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(3)).as_dict()
    name = file_name({**record, "ledger": {"dataset": "../Höhe & <b>"}, "date": "2026-01-02"}, "report", "html")
    assert name == "report-h-he-b-joint-pmt-2026-01-02.html"
