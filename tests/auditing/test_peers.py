"""The audit as a service: a peer's known fault is found, the same code with the right sensitivity is not accused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pmtcore.auditing.lower_bound import audit_estimator, neighbouring_pairs
from pmtcore.base.messages import AuditMessage
from tests.helpers import refused

PAIR = neighbouring_pairs(20, 1, 5.0, (0.0, 1.0))[0]
ROOT = Path(__file__).resolve().parents[2]


def peer(low: float, high: float, right: bool):
    """Run a stand-in written from the published description: two noisy sums, the second's bound taken twice."""

    def fit(x, y, run):
        rng = np.random.default_rng(run)
        squares = max(abs(low), abs(high if right else low)) ** 2
        cross = np.sum(x[:, 0] * y) + rng.laplace(0, 2 * high)
        total = np.sum(x[:, 0] ** 2) + (rng.laplace(0, 2 * squares) if squares else 0.0)
        return np.array([cross / max(abs(total), 1e-9)])

    return fit


def test_the_known_fault_is_found():
    """Bounds (0, 5): the sum of squares has no noise, and the claim of epsilon 1 falls."""
    audited = audit_estimator(peer(0.0, 5.0, right=False), PAIR, 1.0, delta=0.0, trials=2000)
    assert audited.violated and audited.lower_bound > 3


def test_the_right_code_is_not_accused():
    """The same with its true sensitivity."""
    audited = audit_estimator(peer(0.0, 5.0, right=True), PAIR, 1.0, delta=0.0, trials=4000)
    assert not audited.violated


def test_tables_must_be_neighbours():
    """Two rows apart is another claim."""
    (x, y), (other, _) = PAIR
    other = other.copy()
    other[1] = 3.0
    with refused(AuditMessage.NOT_ONE_ROW_APART):
        audit_estimator(peer(0, 5, True), ((x, y), (other, y)), 1.0, delta=0.0)


def test_diffprivlib_itself():
    """The library in its own environment, named by PMT_PEERS (its python); skipped where there is none."""
    python = os.environ.get("PMT_PEERS")
    if not python:
        pytest.skip("PMT_PEERS names no python with diffprivlib; see benchmarks/peers/audit_diffprivlib.py")
    done = subprocess.run(
        [python, "benchmarks/peers/audit_diffprivlib.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    faulty, right = done.stdout.strip().splitlines()
    assert "VIOLATION" in faulty and "no violation" in right
