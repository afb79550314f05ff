"""Published steps that do not give what is claimed, in a line each; derivations are in docs/proofs/errata.md, 8, 12 and 15."""

from __future__ import annotations

from dataclasses import dataclass


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
            "in our copy the noise on the score has R squared, where the proof and Algorithm 4 have R: a root may "
            "have been lost when the text was converted",
            "R, as in the proof; a choice in the lab",
        ),
        (
            "E2",
            "A, Algorithms 3 and 4",
            "the loop runs for t = 0 to T and so computes one step that is never released: the output is step T, and "
            "the budget split in T is right",
            "T steps",
        ),
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
            "for study only; sound with the public trace",
        ),
        ("E5", "C, Algorithms 1 and 3", "a row outside the radius answers with a symbol of its own", "it is clipped"),
        ("E6", "C, Lemma 4", "a calibration proved up to epsilon 1 is used to 20", "exact joint calibration"),
        (
            "E7",
            "C, Algorithm 2",
            "the radius bounds another norm than the one that is needed: safe, with more noise than necessary",
            "the Euclidean norm",
        ),
        ("E8", "D, after equation 4", "the length of the noise has a Gamma law of shape 1 in place of d", "shape d"),
        (
            "E9",
            "D, equation 13",
            "a minimum is printed where a maximum is needed, and a factor 2 is lost",
            "log(1 + zeta3/modulus)",
        ),
        (
            "E10",
            "D, after Prop. 6",
            "the minimum is taken over the selected coordinates only",
            "it is taken over all coordinates",
        ),
        ("E11", "D, section 3.5", "which coefficients are zero tells whether a row is in the table", "for study only"),
        (
            "E12",
            "D, Theorem 4",
            "weights iterated on the private fit are taken as constants",
            "for study only; the sound method has weights from public rows",
        ),
        (
            "E13",
            "D, Prop. 6",
            "the retrieved amount is computed from the private fit, which costs budget that is not counted",
            "the amount is known before a private row is read",
        ),
        (
            "E14",
            "D, Table 2",
            "the iterated weight gives a multiple of the target penalty",
            "the factor 1 - gamma/2 is taken out; a choice in the lab",
        ),
        (
            "E15",
            "D, Table 1",
            "the printed labels of augmented rows divide by zero",
            "labels at which the loss has a slope",
        ),
        (
            "E16",
            "D, smoothed hinge",
            "half of the augmented rows have no curvature",
            "twice the variance, or the limit of many rows",
        ),
        (
            "E17",
            "D, Assumption 1",
            "the loss has no finite bound where responses are unbounded",
            "losses continued linearly",
        ),
        (
            "E18",
            "D, S.2; Kifer et al.",
            "a projection on a direction that depends on the noise is called Gaussian",
            "the Gaussian calibration of the proofs, section 15.4 (docs/proofs/erm.md)",
        ),
        (
            "E19",
            "C, Algorithms 1 to 4",
            "|y| <= 1 (Algorithms 1 and 2) and |y| <= L r + |f(0)| + C (3 and 4) are stated as assumptions on the "
            "rows; no device enforces them, and the counts of the paper's Poisson experiments do not keep the first",
            "clipped on the device to a declared bound; figures draw counts as they are, beside noise for |y| <= 1, as well",
        ),
        (
            "E20",
            "A, Figures 1 and 4",
            "one mu for methods that cost mu and root 2 mu",
            "every budget is that of all parts together",
        ),
        (
            "E21",
            "A, B, D, data",
            "row counts (white wine), delta (1e-4 in the text of D, 0.001 in its Table 4) and the sign of labels (D) "
            "are not the same in text, tables and figures",
            "what is taken is stated beside the figure",
        ),
        (
            "E22",
            "D, Algorithm 1 for VS",
            "read literally, the signs of successive iterations are multiplied",
            "the sign of the last fit",
        ),
        (
            "E23",
            "A, B, C, data",
            "normalizing with the whole table reads private rows",
            "a release normalizes with public rows only",
        ),
        (
            "E24",
            "A, equation 1 and Theorem 3.4",
            "the bounds on noise and inverse drop a factor 2 root 2 of Lemma A.1; in our copy equation 1 has 1 + log "
            "under the root, where equation 2 has it outside: the root may be drawn too far by the conversion",
            "Lemma A.1; every bound is measured beside (lab)",
        ),
        (
            "E25",
            "C, Theorems 19, 20, 26",
            "the lengths assumed of w* and of least squares differ by 5 where the scale between them is 4.06",
            "each condition is computed at the length that it names",
        ),
        (
            "E26",
            "A, Remark 4.4",
            "sigma_2 is printed without the factor 2/mu that the same sensitivity has in Algorithm 2 and Theorem 4.3",
            "with it; a printed sigma_2 would not depend on the budget at all",
        ),
        (
            "E27",
            "D, after equation 4",
            "the variance of a coordinate of the spherical Laplace law is given as 2 s^2, that of one dimension; in p "
            "it is (p + 1) s^2, which is 8.5 times as much at p = 16",
            "(p + 1) s^2, measured beside",
        ),
    )
}


def words(ids: tuple[str, ...]) -> str:
    """Render the errata of a method as one paragraph; empty where it has none."""
    return " ".join(f"{id}: {ERRATA[id].what}; here {ERRATA[id].here}." for id in ids)
