"""``joint-moment``: one whitened moment of all columns; every linear question about them is then free."""
