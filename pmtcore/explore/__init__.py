"""Explore: every linear question to a released joint moment, as post-processing, free."""
