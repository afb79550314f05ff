"""What may be kept between passes: a share of the memory, within limits, whatever the system says of it."""

import os

import pytest

from pmtcore.base import memory
from pmtcore.base.memory import LEAST_KEPT, MOST_KEPT, bytes_for_rows


@pytest.fixture(autouse=True)
def _share_of_others(monkeypatch):
    monkeypatch.setattr(memory, "_share", [memory._OTHER_SHARE])


@pytest.mark.parametrize(
    ("gigabytes", "command", "others"),
    [
        pytest.param(0, LEAST_KEPT, LEAST_KEPT, id="unknown"),
        pytest.param(0.5, LEAST_KEPT, LEAST_KEPT, id="a small container"),
        pytest.param(4, 2**29, 2**27, id="a laptop"),
        pytest.param(64, MOST_KEPT, MOST_KEPT, id="a server"),
    ],
)
def test_a_command_may_keep_more(monkeypatch, gigabytes, command, others):
    """It is alone in its process; eight jobs of a server share the memory."""
    monkeypatch.setattr(memory, "memory_limit", lambda: int(gigabytes * 2**30))
    assert bytes_for_rows() == others
    memory.runs_one_command()
    assert bytes_for_rows() == command


@pytest.mark.parametrize("trouble", [AttributeError, ValueError, OSError], ids=lambda error: error.__name__)
def test_a_system_that_does_not_say_its_memory(monkeypatch, trouble):
    """As Windows does not: the least is kept."""

    def refuses(_):
        raise trouble

    monkeypatch.setattr(os, "sysconf", refuses)
    assert memory.memory_limit() == 0 and bytes_for_rows() == LEAST_KEPT
