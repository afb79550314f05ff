"""Several institutions, one regression: only the noisy total of their sums is opened (docs/proofs/sites.md)."""
