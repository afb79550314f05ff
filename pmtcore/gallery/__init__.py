"""The papers' experiments, recomputed: one frozen description each, a claim, and a check of the claim."""

from pmtcore.gallery.catalogue import figure, figures
from pmtcore.gallery.engine import Computation, Figure, load_stored, store

__all__ = ["Computation", "Figure", "figure", "figures", "load_stored", "store"]
