"""One share of shortened rows, under one name, with its origin, wherever it stands."""

import pytest

from pmtcore.report.statistics import NAME, ShareOrigin, TruncatedShare, truncated_share_words, truncated_shares


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "none"), (1e-9, "less than 0.01 %"), (0.034, "3.4 %"), (0.99999, "more than 99.99 %"), (1.7, "100 %")],
)
@pytest.mark.parametrize("origin", list(ShareOrigin))
def test_a_share_is_a_percentage_with_its_origin(share, words, origin):
    """A small share never reads as none, one below all never as all; what is released with noise stays within 1."""
    if share > 0 or origin is not ShareOrigin.PREDICTED:
        of = "" if words == "none" else " of private rows"
        assert TruncatedShare(share, origin).words == f"{words}{of}, {origin}"


def test_no_public_row_is_no_promise_for_private_ones():
    """Where no public row would be truncated, private rows may be: the error keeps a part for them."""
    assert "a few private ones may be" in TruncatedShare(0.0, ShareOrigin.PREDICTED).words


def test_the_released_share_comes_before_the_prediction():
    """After a release the line has the released share, and what had been predicted of it."""
    line = truncated_share_words({"predicted_truncation_rate": 0.02}, {"clipped_share": 0.03})
    before = truncated_share_words({"predicted_truncation_rate": 0.02})
    assert line.index("3\u00a0% of private rows, released") < line.index("2\u00a0% of private rows had been predicted")
    assert "3\u00a0%" not in before and "had been" not in before


def test_predictions_come_before_what_was_released():
    """Facts and released figures are read by the names under which records keep them; other figures are none."""
    result = truncated_shares(
        {"predicted_truncation_rate": 0.02, "radius": 3.0}, {"clipped_share": 0.03, "r_squared": 0.5}
    )
    assert [one.origin for one in result] == [ShareOrigin.PREDICTED, ShareOrigin.RELEASED]
    assert [one.share for one in result] == [0.02, 0.03]


@pytest.mark.parametrize("figures", [{}, {"predicted_truncation_rate": None}, {"radius": 3.0}])
def test_no_prediction_is_said(figures):
    """A method that predicts no share says so; it is no zero."""
    assert not truncated_shares(figures)
    assert NAME in truncated_share_words(figures) and "not predicted" in truncated_share_words(figures)
