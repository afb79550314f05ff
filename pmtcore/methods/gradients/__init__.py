"""``pmt-gradients``: clipped gradients in several passes, with the public Hessian and its prior carried along."""
