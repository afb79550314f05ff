"""``joint-pmt``: a joint whitened release, and clipped gradients at the estimate from it.

The *pilot* is the first-stage release, a noisy joint moment; *score* is a mean clipped gradient released at an earlier
estimate. P is the Gram matrix of the whitened private features, q their cross moment with the whitened response, and
the *correction* delta the difference of the private fit from the public one in whitened coordinates.
"""
