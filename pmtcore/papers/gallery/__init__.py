"""The papers' experiments, recomputed: one frozen description each, a claim, and a check of the claim."""
