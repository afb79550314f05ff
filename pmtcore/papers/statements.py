"""Every algorithm and every numbered statement of the four papers, and what became of it here.

References are checked by a test: ``method:ID`` is registered, ``bound:SOURCE`` is computed by one of the theory
modules, ``figure:ID`` is in the gallery, ``erratum:ID`` in the table of errata, ``code:module:name`` exists. Figures
and claims are not listed here: the gallery knows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["implemented", "declared", "left out"]


@dataclass(frozen=True)
class Statement:
    """One line of a paper.

    Attributes:
        state: *implemented*: to be run or computed; *declared*: done otherwise, or no number; *left out*.
        where: references to what does it.
        why: of what is declared or left out.
    """

    paper: str
    number: str
    words: str
    state: State
    where: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class _Paper:
    """A paper, which makes the lines that are about it."""

    id: str

    def done(self, number: str, words: str, *where: str, why: str = "") -> Statement:
        return Statement(self.id, number, words, "declared" if why else "implemented", where, why)

    def said(self, number: str, words: str, why: str, *where: str) -> Statement:
        return Statement(self.id, number, words, "declared", where, why)

    def out(self, number: str, words: str, why: str) -> Statement:
        return Statement(self.id, number, words, "left out", (), why)


_OMITTED = "its constants are omitted in the paper, so it is no number; the rates are drawn"
_PROOF = "a step of proofs; no number of its own is claimed"
_EQUATIONS = "definitions and steps; those with a number of their own stand above or beside their theorem"
_DEFINED = "definitions and assumptions, no claim; what is taken of them is said at each theorem and method"
_BUDGETS = "code:pmtcore.accounting.budgets:"
_A, _B, _C, _D = map(_Paper, "ABCD")

STATEMENTS: tuple[Statement, ...] = (
    _A.done(
        "Algorithm 1",
        "public-moment-guided truncation",
        "method:pmt-moment",
        "code:pmtcore.mechanisms.truncation:papers_radius",
    ),
    _A.done("Algorithm 2", "DP-PMTRR, whitened ridge", "method:pmt-ridge"),
    _A.done("Algorithm 3", "DP-PMTLR, whitened noisy Newton", "method:pmt-logistic", "erratum:E1", "erratum:E2"),
    _A.done("Algorithm 4", "DP-PMTGLM", "method:pmt-glm", "erratum:E2", "erratum:E3"),
    _A.done("Algorithm 5", "DP-LR, noisy Newton on rows as they are", "method:dp-logistic", "erratum:E1", "erratum:E4"),
    _A.done("Lemma 2.1", "mu-GDP as a curve of (epsilon, delta)", _BUDGETS + "delta_from_mu"),
    _A.done("Theorem 2.1", "composition", _BUDGETS + "compose"),
    _A.done("Theorem 2.2", "Gaussian mechanism", "code:pmtcore.mechanisms.noise:sigma_for"),
    _A.done("Theorem 3.1", "eigenvalues of the whitened moment", "bound:A, Theorem 3.1; B, Theorem 1"),
    _A.done("Corollary 3.1", "length of whitened rows", "bound:A, Corollary 3.1; B, Corollary 2"),
    _A.done("Remark 3.1", "a public moment matrix is enough", "code:pmtcore.public.moments:public_from_moment"),
    _A.done(
        "Theorem 3.2",
        "private moment and the norm of its noise",
        "method:pmt-moment",
        "bound:A, equation 1",
        "erratum:E24",
    ),
    _A.done(
        "Theorem 3.3",
        "regularized inverse: recovery and both errors",
        "method:pmt-moment",
        "bound:A, Theorem 3.3, equation 2",
        "bound:A, Theorem 3.3, equation 3",
    ),
    _A.done("Theorem 3.4", "inverse from private rows alone", "bound:A, Theorem 3.4", "erratum:E24"),
    _A.done("Theorem 4.1", "whitened ridge is ridge", "method:pmt-ridge"),
    _A.done("Theorem 4.2", "privacy and error of DP-PMTRR", "bound:A, Theorem 4.2"),
    _A.done("Theorem 4.3", "DP-RR with known trace and length", "method:dp-ridge-public", "bound:A, Theorem 4.3"),
    _A.done("Remark 4.1", "the response divided by its public root mean square", "method:pmt-ridge"),
    _A.done("Remark 4.2", "the loss whose minimizer the whitened ridge is", "method:pmt-ridge"),
    _A.said(
        "Remark 4.3",
        "what DP-PMTRR improves, in words",
        "the two bounds stand beside each other",
        "bound:A, Theorem 4.2",
        "bound:A, Theorem 4.3",
    ),
    _A.done("Remark 4.4", "DP-RR in practice", "method:dp-ridge", "erratum:E4", "erratum:E26"),
    _A.done(
        "end of section 4", "gradient methods with lasso and elastic net on truncated whitened rows", "method:dp-gd"
    ),
    _A.done("Theorem 5.1", "whitened Newton steps are Newton steps", "method:pmt-logistic"),
    _A.done("Theorem 5.2", "privacy of DP-PMTLR", "method:pmt-logistic"),
    _A.done("Lemma 5.1", "strong convexity, whitened and plain", "bound:A, Lemma 5.1"),
    _A.done("Lemma 5.2", "Lipschitz constant of the Hessian", "bound:A, Lemma 5.2"),
    _A.said(
        "Remarks 5.1, 5.2",
        "better convexity and smoothness after whitening, in words",
        "the numbers of both sides stand beside each other",
        "bound:A, Lemma 5.1",
        "bound:A, Lemma 5.2",
    ),
    _A.done("Theorem 5.3", "error of DP-PMTLR", "bound:A, Theorem 5.3"),
    _A.done("Remark 5.3", "the recovered estimator converges too", "method:pmt-logistic"),
    _A.done("Theorem 5.4", "error of DP-LR", "bound:A, Theorem 5.4"),
    _A.done("Corollary 5.1", "whitened steps of any family are steps of it", "method:pmt-glm"),
    _A.done("Theorem 5.5", "privacy and error of DP-PMTGLM", "method:pmt-glm", "bound:A, Theorem 5.5"),
    _A.done("Lemma A.1", "norm of a symmetric Gaussian matrix", "bound:A, Lemma A.1"),
    _A.said("Lemmas A.2 to A.6, Corollary A.1", "Gaussian vectors, singular values, lengths, inverses, Weyl", _PROOF),
    _A.said("Lemma A.7", "convergence of noisy Newton", "its number is Theorem 5.3's", "bound:A, Theorem 5.3"),
    _A.said("Remark B.1", "Theorem 5.4 is proved like 5.3", _PROOF, "bound:A, Theorem 5.4"),
    _A.said("Definitions 2.1 to 2.4", "privacy, f-privacy, GDP, sensitivity", _DEFINED),
    _A.said(
        "equations 1 to 3", "noise and both errors of the inverse", "with Theorems 3.2 and 3.3", "bound:A, equation 1"
    ),
    _A.said("equations 4 to 24", "models, losses, steps of proofs", _EQUATIONS),
    _B.done("Algorithm 1", "public-moment-transformed truncation", "method:pmt-moment"),
    _B.done("Algorithm 2", "DP-PMTSE, the private moment", "method:pmt-moment"),
    _B.done("Algorithm 3", "DP-PMTOLSE", "method:pmt-ols"),
    _B.done("Algorithm 4", "DP-OLSE", "method:dp-ols", "erratum:E4"),
    _B.done(
        "Lemma 1",
        "zCDP to (epsilon, delta)",
        _BUDGETS + "epsilon_from_mu",
        why="the exact curve of the Gaussian mechanism is reported, which is never above",
    ),
    _B.done("Lemmas 2, 3", "zCDP: composition, Gaussian mechanism", _BUDGETS + "compose"),
    _B.said("Lemmas 4 to 6, 8, Corollary 1", "concentration of lengths and singular values", _PROOF),
    _B.done("Lemma 7", "norm of a symmetric Gaussian matrix", "bound:B, equation 13"),
    _B.done("Theorem 1", "eigenvalues of the whitened moment", "bound:A, Theorem 3.1; B, Theorem 1"),
    _B.done("Corollary 2", "length of whitened rows", "bound:A, Corollary 3.1; B, Corollary 2"),
    _B.done("Theorem 2", "privacy of the moment", "method:pmt-moment"),
    _B.done("equation 13", "norm of the noise", "bound:B, equation 13"),
    _B.done("Theorem 3", "privacy and error of DP-PMTOLSE", "method:pmt-ols", "bound:B, Theorem 3"),
    _B.done("Theorem 4", "privacy and error of DP-OLSE", "bound:B, Theorem 4"),
    _B.said(
        "Remarks 1, 2",
        "comparison of the two in words",
        "the two bounds stand beside each other",
        "bound:B, Theorem 3",
        "bound:B, Theorem 4",
    ),
    _B.said("Definitions 1 to 3", "privacy, zCDP, sensitivity", _DEFINED),
    _B.said("equations 1 to 12", "model, least squares, truncation, moments", _EQUATIONS),
    _B.said("equations 14 to 31", "bounds of the theorems and steps of proofs", _EQUATIONS),
    _C.done(
        "Algorithm 1",
        "local GLM, Gaussian design",
        "method:ldp-glm-gaussian",
        "method:ldp-glm-gaussian-printed",
        "erratum:E5",
        "erratum:E6",
    ),
    _C.done("Algorithm 2", "local GLM, bounded design", "method:ldp-glm", "method:ldp-glm-printed", "erratum:E7"),
    _C.done(
        "Algorithm 3",
        "local regression, Gaussian design",
        "method:ldp-nlr-gaussian",
        "method:ldp-nlr-gaussian-printed",
        "erratum:E19",
    ),
    _C.done(
        "Algorithm 4", "local regression, bounded design", "method:ldp-nlr", "method:ldp-nlr-printed", "erratum:E19"
    ),
    _C.done(
        "Lemma 4", "classical Gaussian calibration", "code:pmtcore.papers.theory_local:classical_check", "erratum:E6"
    ),
    _C.done("Lemma 5", "Stein: one scale", "code:pmtcore.local.estimators:scale_root"),
    _C.done("Lemma 6", "radius of the Gaussian design", "bound:C, Lemma 6"),
    _C.done("Theorem 7", "privacy of Algorithm 1", "method:ldp-glm-gaussian", "erratum:E5"),
    _C.said(
        "Theorem 8, Corollary 9",
        "error and sample sizes of Algorithm 1",
        _OMITTED,
        "figure:C1",
        "figure:C1b",
        "figure:C2",
    ),
    _C.done("Remark 10", "two rounds in place of public rows", "code:pmtcore.papers.theory_local:two_rounds"),
    _C.done("Remark 11", "public rows in the Gram matrix", "method:ldp-glm"),
    _C.said("Lemma 12", "least squares up to a scale, any design", _OMITTED, "figure:C3"),
    _C.done("Theorem 13", "privacy of Algorithm 2", "method:ldp-glm"),
    _C.said(
        "Theorem 14, Corollary 15",
        "error and sample sizes of Algorithm 2",
        _OMITTED,
        "figure:C3",
        "figure:C3b",
        "figure:C4",
    ),
    _C.done(
        "Remark 16", "one collection answers any number of losses", "code:pmtcore.methods.local.collected:LocalOutcome"
    ),
    _C.said("Theorem 17", "error under weaker conditions", _OMITTED, "figure:C4"),
    _C.said(
        "Remark 18",
        "conditions hold for logistic and boosting losses, and experiments do without",
        "the two examples are Theorems 19 and 20; the cubic experiment is drawn",
        "bound:C, Theorem 19",
        "bound:C, Theorem 20",
        "figure:C5",
    ),
    _C.done("Theorem 19", "condition on the scale, logistic", "bound:C, Theorem 19", "erratum:E25"),
    _C.done("Theorem 20", "condition on the scale, boosting", "bound:C, Theorem 20", "erratum:E25"),
    _C.done("Theorem 21", "Stein for a regression", "method:ldp-nlr-gaussian"),
    _C.said("Theorem 22", "privacy and error of Algorithm 3", _OMITTED, "method:ldp-nlr-gaussian"),
    _C.said("Theorem 24", "least squares up to a scale, regression", _OMITTED, "figure:C5"),
    _C.said("Theorem 25", "privacy and error of Algorithm 4", _OMITTED, "method:ldp-nlr", "figure:C5b"),
    _C.done("Theorem 26", "condition on the scale, sigmoid", "bound:C, Theorem 26", "erratum:E25"),
    _C.said("Table 1", "sample complexities beside those of others", _OMITTED, "figure:C1", "figure:C3"),
    _C.said("Lemmas 27 to 39", "Weyl, Gaussian matrices, covering, roots", _PROOF),
    _C.said("Definitions 1 to 3, Definition 23, Assumptions 1 to 6", "privacy, sub-Gaussian rows, losses", _DEFINED),
    _C.said("equations 1 to 68", "models, bounds of the theorems, steps of proofs", _EQUATIONS),
    _D.done("equation 2", "DP-ERM", "method:dp-erm"),
    _D.done(
        "Algorithm 1", "NAPP-ERM, rows drawn or their limit", "method:napp-erm", "code:pmtcore.glm.augment:iterate"
    ),
    _D.done(
        "Algorithm 2",
        "retrieval and recycling, any number of passes",
        "method:napp-erm",
        "code:pmtcore.glm.augment:recycled",
        "erratum:E13",
    ),
    _D.done(
        "section 3.5",
        "selection: any b, above a finite c, positive b",
        "method:napp-vs",
        "method:napp-vs-plus",
        "erratum:E11",
        "erratum:E22",
    ),
    _D.done("Table 1, equation 3", "augmented rows", "code:pmtcore.glm.augment:augmented", "erratum:E15"),
    _D.done(
        "equation 4", "noise, pure and Gaussian", "code:pmtcore.accounting.perturbed:equation_4", "bound:D, equation 4"
    ),
    _D.done(
        "after equation 4",
        "how the pure noise is sampled",
        "code:pmtcore.mechanisms.perturbed:draw_sampled",
        "erratum:E8",
        "erratum:E27",
    ),
    _D.done("Proposition 1", "the limit of many augmented rows", "code:pmtcore.glm.augment:limit"),
    _D.done("Table 2", "weights of ridge, bridge, elastic net", "code:pmtcore.glm.augment:Target", "erratum:E14"),
    _D.said("Table 3", "names of the losses that section 4 compares", "definitions, no number", "bound:D, Lemma 7"),
    _D.done("Table 4", "simulation settings", "code:pmtcore.papers.gallery.erm:table4", "erratum:E21"),
    _D.done("Claim 2", "the sum in place of the maximum", "code:pmtcore.glm.augment:Target"),
    _D.done("Proposition 3", "the modulus is kept", "figure:D1d", "figure:D1e", "figure:D1f"),
    _D.done("equations 9, 10", "noise truncated at c", "code:pmtcore.mechanisms.perturbed:draw_above"),
    _D.said(
        "Theorem 4",
        "differential privacy of both",
        "it does not hold (E11, E12): the attacks win",
        "code:pmtcore.auditing.attacks:attack",
        "erratum:E11",
        "erratum:E12",
        "erratum:E18",
    ),
    _D.done(
        "Corollary 5",
        "least standard deviation of Gaussian noise",
        "bound:D, Corollary 5",
        "bound:D, Corollary 5, simplified",
    ),
    _D.done(
        "Proposition 6, equation 13",
        "what is retrieved, in three readings",
        "code:pmtcore.glm.augment:retrieved_share",
        "erratum:E9",
        "erratum:E10",
        "erratum:E13",
    ),
    _D.done("equations 14, 15", "noise and modulus of a re-run", "code:pmtcore.glm.augment:recycled"),
    _D.done("Lemma 7", "empirical risk", "bound:D, Lemma 7"),
    _D.done("Theorem 8", "excess risk, pure", "bound:D, Theorem 8"),
    _D.done("Theorem 8, B2", "excess risk, Gaussian", "bound:D, Theorem 8, Gaussian"),
    _D.done(
        "after Theorem 8",
        "tighter than Kifer, Smith and Thakurta",
        "bound:D, Theorem 8",
        "bound:D, Theorem 8, Gaussian",
        why="the bound of that paper is not printed here; both terms of D's are computed, and what is measured",
    ),
    _D.out("Lemma 9, Theorem 10", "sample complexity", "its constant C' is said to exist and given no value"),
    _D.said("Lemma 11", "determinant of a rank-two change", _PROOF),
    _D.done("section 6", "smoothed hinge", "code:pmtcore.glm.losses:HINGE", "erratum:E16"),
    _D.out("section 6", "SCAD and l0 penalties", "mentioned, not specified"),
    _D.said("Definitions 1, 2, Assumption 1", "privacy; regularity of losses and rows", _DEFINED, "erratum:E17"),
    _D.said(
        "equations 1, 5 to 8", "risk, augmented rows, objectives", _EQUATIONS, "code:pmtcore.glm.augment:augmented"
    ),
    _D.said("equation 11", "the two ratios of the proof", _PROOF),
    _D.said("equation 12", "Corollary 5", "computed there", "bound:D, Corollary 5"),
    _D.said("equations 16 to 39", "bounds of section 4 and the supplement's proofs", _EQUATIONS),
)
