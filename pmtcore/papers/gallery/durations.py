"""How long a trial takes of figures that ship without a result, so that nobody has to press a button to learn it."""

from __future__ import annotations

# Processor seconds of one trial on one core, as `Computation(figure, 1)` measured them.
SECONDS = {
    "C1": 14.1,
    "C1b": 7.2,
    "C3": 9.1,
    "C4": 6.5,
    "C5": 4.6,
    "C7": 2.3,
    "C7b": 2.1,
    "D4g": 0.22,
    "D5d": 0.13,
    "D5k": 0.10,
    "D5l": 0.11,
    "D5m": 0.08,
    "D7e": 0.22,
    "D7f": 0.18,
    "D7g": 0.24,
    "DS1d": 0.48,
    "DS1e": 0.30,
    "DS1f": 0.40,
    "DS1g": 0.32,
    "DS2d": 0.30,
    "DS2e": 0.23,
    "DS2f": 0.11,
    "DS3c": 0.17,
    "DS4c": 0.72,
}
