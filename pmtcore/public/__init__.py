"""Public side of a release: whitening, clipping bounds, public fits and their uncertainty; all from public figures."""
