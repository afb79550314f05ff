"""``joint-moment``: one whitened moment of all columns; all linear regressions from it are post-processing."""
