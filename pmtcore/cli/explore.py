"""The explore command: a regression, or statistics of all columns, from a record; spends nothing."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from pmtcore.accounting.budgets import of_person, person_note
from pmtcore.base.escaping import one_line
from pmtcore.base.labels import Label
from pmtcore.base.messages import CommandMessage, InputError
from pmtcore.base.numbers import p_value
from pmtcore.base.strict_json import parse_json
from pmtcore.cli.arguments import Answer, number_from
from pmtcore.cli.files import read_small, write_small
from pmtcore.explore.confirm import combine_with_release
from pmtcore.explore.logistic import logistic_from_linear
from pmtcore.explore.moment import Moment
from pmtcore.explore.regression import InstrumentalFit, Regression, information_criteria, nested_test
from pmtcore.report.sheet import csv_text


def run(chosen: argparse.Namespace) -> Answer:
    """Open the record and answer."""
    moment = Moment.from_bytes(read_small(chosen.record))
    if chosen.synthetic:
        return _synthetic(moment, chosen)
    if chosen.show in _OUTPUTS:
        record = _OUTPUTS[chosen.show](moment, chosen)
        return {"label": moment.label.value, **record}, _lines(record)
    if chosen.show is not None:
        raise InputError(CommandMessage.SHOW_FORM, allowed=_OUTPUTS)
    return _answer(moment, chosen)


def _regression(moment: Moment, chosen: argparse.Namespace) -> Regression:
    if chosen.formula is not None:
        if chosen.response or chosen.features:
            raise InputError(CommandMessage.FORMULA_OR_RESPONSE)
        return moment.regress(chosen.formula, ridge=chosen.ridge)
    features = None if chosen.features is None else [p.strip() for p in chosen.features.split(",") if p.strip()]
    return moment.regress(
        response=chosen.response, features=features, ridge=chosen.ridge, intercept=not chosen.no_intercept
    )


def _answer(moment: Moment, chosen: argparse.Namespace) -> Answer:
    """Return one regression in the keys of a release."""
    fit = _regression(moment, chosen)
    staged = _staged(moment, chosen)
    fit = fit if staged is None else staged.regression
    fields: dict[str, Any] = fit.as_dict()
    if staged is not None:
        fields["first_stage"] = {name: test.as_dict() for name, test in staged.first_stage.items()}
        fields["weak_instruments"] = list(staged.weak)
    else:
        fields |= information_criteria(fit)
    if chosen.within:
        fields["nested"] = nested_test(moment.regress(chosen.within), fit).as_dict()
    if chosen.family == "logistic":
        fields |= logistic_from_linear(fit).as_dict()
    elif chosen.family != "gaussian":
        raise InputError(CommandMessage.RECORD_OF_OTHER_FAMILY)
    elif chosen.correction != "none":
        bands = fit.corrected(chosen.correction, chosen.models)
        for j, name in enumerate(fit.names):
            fields["bands"][name] |= {"low": float(bands.low[j]), "high": float(bands.high[j])}
        fields["correction"] = chosen.correction
    if chosen.confirm:
        fields["confirmed"] = _confirmed(fit, chosen.confirm)
    if chosen.test:
        test = fit.test([part.strip() for part in chosen.test.split(",")])
        fields["test"] = {"statistic": test.statistic, "among": test.df_num, "freedom": test.df_denom, "p": test.pvalue}
    if chosen.at is not None:
        fields["prediction"] = vars(moment.predict(fit, _values(chosen.at)))
    record = {
        "label": moment.label.value,
        "method": "joint-moment",
        **fields,
        "guarantee": dict(moment.record.guarantee),
        "n": moment.record.n,
        "public_rows": moment.record.m,
    }
    return record, _text(record, moment)


def _values(text: str) -> dict[str, float]:
    """Return the values to predict at, by the name of their column: each name once."""
    # From the right: the column of a level has a '=' in its name.
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    numbers = {name.strip(): number_from("--at", value) for name, _, value in pairs}
    if not pairs or "" in numbers or len(numbers) < len(pairs):
        raise InputError(CommandMessage.OPTION_FORM, option="--at", form="'A=1,B=2'", given=text)
    return numbers


def _staged(moment: Moment, chosen: argparse.Namespace) -> InstrumentalFit | None:
    """Return two-stage least squares, where instruments were named."""
    if chosen.endogenous is None and chosen.instruments is None:
        return None
    if not (chosen.formula and chosen.endogenous and chosen.instruments):
        raise InputError(CommandMessage.INSTRUMENTS_FORM)
    roles = [[part.strip() for part in text.split(",")] for text in (chosen.endogenous, chosen.instruments)]
    return moment.iv(chosen.formula, endogenous=roles[0], instruments=roles[1])


def _confirmed(fit: Regression, path: str) -> list[dict[str, Any]]:
    """Return the model from both releases together."""
    try:
        other = parse_json(read_small(path))
    except ValueError:
        other = None
    if not isinstance(other, Mapping):
        raise InputError(CommandMessage.CONFIRM_IS_NO_RELEASE)
    return combine_with_release(fit, other).as_rows()


def _text(record: Mapping[str, Any], moment: Moment) -> str:
    lines = [one_line(record["formula"]) + (f"   ridge {record['lam']:g}" if record["lam"] else "")]
    width = max(len(one_line(name)) for name in record["coefficients"])
    lines.append(f"{'':{width}} {'coefficient':>12} {'privacy sd':>11} {'sampling sd':>11}   95 % band")
    for name, value in record["coefficients"].items():
        band = record["bands"][name]
        lines.append(
            f"{one_line(name):{width}} {value:12.5g} {band['privacy']:11.4g} {band['sampling']:11.4g}   "
            f"[{band['low']:.4g}, {band['high']:.4g}]"
        )
    if record["r_squared"] is not None and "family" not in record:
        share = record["r_squared"]
        lines.append(f"R^2 {share['value']:.3f} [{share['low']:.3f}, {share['high']:.3f}]")
    if "aic" in record and record["r_squared"] is not None:
        lines.append(
            f"adjusted R^2 {record['adjusted_r_squared']:.4f}, AIC {record['aic']:.5g}, BIC {record['bic']:.5g}"
        )
    for name, test in record.get("first_stage", {}).items():
        lines.append(f"first stage of {one_line(name)}: F = {test['statistic']:.4g}, p: {p_value(test['pvalue'])}")
    if "nested" in record:
        lines.append(f"nested: F = {record['nested']['statistic']:.4g}, p: {p_value(record['nested']['pvalue'])}")
    if "test" in record:
        lines.append(f"joint test: F = {record['test']['statistic']:.4g}, p = {record['test']['p']:.3g}")
    if "prediction" in record:
        at = record["prediction"]
        lines.append(
            f"prediction {at['value']:.5g}, mean in [{at['low']:.5g}, {at['high']:.5g}], a new row in "
            f"[{at['new_low']:.5g}, {at['new_high']:.5g}]"
        )
    if "confirmed" in record:
        lines += ["both releases together:", *_table(record["confirmed"])]
    if record["label"] == Label.LAB.value:
        lines.append("A figure of the lab: its release was in no ledger, or its noise can be repeated.")
    promise = moment.record.guarantee
    note = person_note(promise)
    lines.append(
        f"From a release at mu = {of_person(promise)['mu']:.4g}{f' ({note})' if note else ''}; this question spends "
        f"nothing. Bands hold for a regression chosen beforehand; after a search use --correction."
    )
    return "\n".join(lines)


def _columns(moment: Moment, _: argparse.Namespace) -> dict[str, Any]:
    rules = [rule.as_dict() for rule in moment.record.derived.rules]
    return {"columns": list(moment.columns), "derived": rules, "labels": list(moment.labels)}


def _path(moment: Moment, chosen: argparse.Namespace, kind: str) -> dict[str, Any]:
    fit = _regression(moment, chosen)
    path = moment.ridge_path(fit) if kind == "ridge" else moment.lasso_path(fit)
    fields = {"names": list(path.names), "lam": path.lam.tolist(), "coefficients": path.coefficients.tolist()}
    return fields if path.chosen is None else {**fields, "chosen_share": path.chosen.tolist()}


def _components(moment: Moment, _: argparse.Namespace) -> dict[str, Any]:
    shares, loadings = moment.components()
    names = [f"component {k + 1}" for k in range(len(shares.values))]
    fields = {"components": shares.as_rows(names), "columns": list(moment.columns), "loadings": loadings.tolist()}
    return {**fields, "loading_bands": moment.loadings()}


_OUTPUTS: dict[str, Callable[[Moment, argparse.Namespace], dict[str, Any]]] = {
    "columns": _columns,
    "summary": lambda moment, _: {"summary": moment.summary()},
    "correlations": lambda moment, _: {"pairs": moment.pairs()},
    "partial": lambda moment, _: {"pairs": moment.pairs(True)},
    "components": _components,
    "ridge": lambda moment, chosen: _path(moment, chosen, "ridge"),
    "lasso": lambda moment, chosen: _path(moment, chosen, "lasso"),
    "subsets": lambda moment, chosen: {"subsets": [vars(s) for s in moment.best_subsets(_regression(moment, chosen))]},
}


def _lines(record: Mapping[str, Any]) -> str:
    """Return rows of figures as a table, and lists as lines."""
    lines = []
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines += _table(value)
        else:
            lines.append(one_line(f"{name}: {value}"))
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line for the names of the figures and one for each row."""
    keys = [key for key in rows[0] if not isinstance(rows[0][key], list | dict)]
    return ["  ".join(f"{key:>14}" for key in keys), *("  ".join(_cell(row[key]) for key in keys) for row in rows)]


def _cell(value: object) -> str:
    return f"{value:14.5g}" if isinstance(value, float) else f"{one_line(str(value)):>14}"


def _synthetic(moment: Moment, chosen: argparse.Namespace) -> Answer:
    frame = moment.synthetic(chosen.rows)
    write_small(chosen.synthetic, csv_text(frame))
    words = f"{len(frame)} synthetic rows written to {chosen.synthetic}: for trying code, never for inference."
    return {"file": chosen.synthetic, "rows": len(frame), "synthetic": True}, words
