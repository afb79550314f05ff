"""``joint-pmt``: a joint whitened release, and a clipped gradient at it."""
