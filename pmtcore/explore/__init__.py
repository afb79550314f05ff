"""Explore: regressions, tests and correlations from a released joint moment; post-processing, so free.

A *joint moment* is the second moment ``mean z z'`` of all columns z together, features and response, with its noise. A
*record* is the file that contains it.
"""
