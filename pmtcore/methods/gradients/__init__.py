"""``pmt-gradients``: clipped gradients in several passes, scaled by the public Hessian, with a public prior.

The *frame* is the public side of the passes: their coordinates, the public rows in them, and the prior. A *rehearsal*
runs the passes on simulated rows, to compare actual errors with the covariance of the filter.
"""
