"""E5, E11 and E12: the published steps are refuted by an event of known probability, the sound methods are not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binomtest

from pmtcore.auditing import attacks
from pmtcore.auditing.attacks import ATTACKS, SOUND, attack
from pmtcore.base.messages import AuditMessage
from pmtcore.glm.solvers import Data
from tests.helpers import FALSE_ALARM, refused

TRIALS = 20_000


@pytest.mark.parametrize("id", ATTACKS)
def test_the_published_method_is_refuted(id):
    """The claim fails at the stated confidence, and the counts agree with the exact probabilities (exact test)."""
    attacked = attack(id, trials=TRIALS)
    assert attacked.refutes, attacked.sentence
    assert attacked.without <= (0.03 * TRIALS if id == "iterated-weights" else 0)
    if id != "iterated-weights":  # 80 rounds are not the limit
        assert binomtest(attacked.with_row, TRIALS, attacked.exact[1]).pvalue > FALSE_ALARM
    else:
        assert abs(attacked.with_row / TRIALS - attacked.exact[1]) < 0.02
    assert "exactly 0 and" in attacked.sentence
    assert json.loads(json.dumps(attacked.as_dict()))["epsilon_lower_bound"] > 1


@pytest.mark.parametrize("id", ATTACKS)
@pytest.mark.parametrize("method", SOUND)
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_sound_methods_are_not(id, method, epsilon):
    """Same tables, same event, same claim."""
    attacked = attack(id, method, epsilon, TRIALS)
    assert not attacked.refutes, attacked.sentence
    assert attacked.exact is None


def test_the_symbol_gives_a_device_away():
    """E5: as printed the claim is broken, with clipped reports it is not."""
    assert attacks.symbol().refutes and not attacks.symbol(printed=False).refutes


def test_longer_iterations_come_nearer_to_the_impossible():
    """E12: the event fades on D as rounds go on, and stays on D'."""
    loss = ATTACKS["iterated-weights"].loss
    empty = Data(loss, np.zeros((1, 1)), np.zeros(1))
    shares = [
        attacks.unreached_interval_mask(attacks.iterated_lasso(rounds)(empty, 1.0, 4000, 5)).mean()
        for rounds in (20, 80, 320)
    ]
    assert shares[0] > shares[1] > shares[2]


def test_bad_input_is_a_sentence():
    """Unknown attack, unknown method."""
    with refused(AuditMessage.NO_ATTACK):
        attack("nothing")
    with refused(AuditMessage.NO_ATTACK):
        attack("vs", "joint-pmt")
