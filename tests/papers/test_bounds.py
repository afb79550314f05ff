"""Words about the bounds: what holds, what does not, what is silent."""

from __future__ import annotations

from pmtcore.papers import bounds
from pmtcore.papers.figures import bounds as figure
from pmtcore.papers.figures import gallery
from pmtcore.papers.theory import Bound, TheorySetting


def test_a_sentence_for_each_mixture():
    """Counts and factors are those of the bounds; a table too small for any theorem has no shape."""
    holds, fails = Bound("A", "one", 2.0, 1.0), Bound("B", "two", 1.0, 2.0)
    silent = Bound("C", "three", 1.0, 1.0, condition=3.0)
    assert bounds.sentence([holds]) == "1 of 1 bound holds (2 times the measured error)."
    words = bounds.sentence([holds, fails, silent])
    assert words.startswith("1 of 3 bounds holds") and words.endswith(", 1 fails, 1 does not apply.")
    more = bounds.sentence([holds, Bound("A", "four", 30.0, 1.0), fails, fails, silent, silent])
    assert more == "2 of 6 bounds hold (2–30 times the measured error), 2 fail, 2 do not apply."
    assert len(bounds.table([holds, fails])) == 2 and len(figure.bounds([holds, fails, silent]).data) == 3
    assert bounds.shape(10, 8, 1000) is None and bounds.shape(10, None, 1000) is None
    assert bounds.shape(100, 5000, 10**6) == TheorySetting(d=60, m=5000, n=10**6)


def test_durations_in_words():
    """Seconds to days, singular and plural."""
    said = [gallery.duration(s) for s in (0.2, 1.4, 45, 60, 150, 3600, 9000, 200_000)]
    assert said == ["1 second", "1 second", "45 seconds", "1 minute", "2.5 minutes", "1 hour", "2.5 hours", "2.3 days"]
