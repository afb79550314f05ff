"""Published steps that do not give what is claimed, in a line each; derivations are in docs/maths.md, 8, 12 and 15."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Erratum:
    """One erratum: where it is printed, what is wrong, what is done here."""

    id: str
    where: str
    what: str
    here: str


ERRATA = {
    id: Erratum(id, where, what, here)
    for id, where, what, here in (
        (
            "E1",
            "A, Algorithms 3 and 5",
            "noise on the score is printed with R squared",
            "R, as in the proof; a choice in the lab",
        ),
        ("E2", "A, Algorithms 3 and 4", "T + 1 steps on a budget split in T", "T steps"),
        (
            "E3",
            "A, Algorithm 4",
            "nothing keeps iterates where the bound on the slope holds",
            "each iterate is projected",
        ),
        (
            "E4",
            "A, Remark 4.4; B, Algorithm 4",
            "the radius uses the private trace",
            "lab only; sound with the public trace",
        ),
        ("E5", "C, Algorithms 1 and 3", "a row outside the radius answers with a symbol of its own", "it is clipped"),
        ("E6", "C, Lemma 4", "a calibration proved up to epsilon 1 is used to 20", "exact joint calibration"),
        ("E7", "C, Algorithm 2", "the radius bounds the wrong norm (loose only)", "Euclidean norm"),
        ("E8", "D, after equation 4", "the noise length has shape 1 in place of d", "shape d"),
        ("E9", "D, equation 13", "min for max, and a 2 is lost", "log(1 + zeta3/modulus)"),
        ("E10", "D, after Prop. 6", "minimum over the selected coordinates only", "over all"),
        ("E11", "D, section 3.5", "the support tells whether a row is there", "lab only"),
        (
            "E12",
            "D, Theorem 4",
            "weights iterated on the private fit are taken as constants",
            "lab only; public weights",
        ),
        ("E13", "D, Prop. 6", "the retrieved amount is computed from the private fit, unpaid", "known beforehand"),
        ("E14", "D, Table 2", "the iterated weight realizes a multiple of the target", "factor 1 - gamma/2; a choice"),
        ("E15", "D, Table 1", "division by zero at the printed labels of augmented rows", "labels with a slope"),
        ("E16", "D, smoothed hinge", "half of the augmented rows have no curvature", "double variance, or the limit"),
        ("E17", "D, Assumption 1", "no finite bound for unbounded responses", "losses continued linearly"),
        (
            "E18",
            "D, S.2; Kifer et al.",
            "a projection on a direction that depends on the noise is called Gaussian",
            "see maths, 15.4",
        ),
        ("E19", "C, Algorithms 1 to 4", "responses are not bounded as the noise assumes", "clipped on the device"),
        ("E20", "A, Figures 1 and 4", "one mu for methods that cost mu and root 2 mu", "every budget is a total"),
        (
            "E21",
            "A, B, D, data",
            "row counts, delta and the sign of labels disagree in places",
            "stated beside the figure",
        ),
        (
            "E22",
            "D, Algorithm 1 for VS",
            "signs multiply over the iterations if read literally",
            "sign of the last fit",
        ),
        (
            "E23",
            "A, B, C, data",
            "normalizing with the whole table reads private rows",
            "public rows only in a release",
        ),
        (
            "E24",
            "A, equation 1 and Theorem 3.4",
            "the bounds on noise and inverse drop a factor 2 root 2 of Lemma A.1, and equation 1 has 1 + log under the root",
            "Lemma A.1; every bound is measured beside (lab)",
        ),
        (
            "E25",
            "C, Theorems 19, 20, 26",
            "the lengths assumed of w* and of least squares differ by 5 where the scale between them is 4.06",
            "each condition is computed at the length that it names",
        ),
    )
}


def words(ids: tuple[str, ...]) -> str:
    """The errata of a method, as one paragraph; empty where it has none."""
    return " ".join(f"{id}: {ERRATA[id].what}; here {ERRATA[id].here}." for id in ids)
