"""Public side of a release: whitening, clipping bounds, public fits and their uncertainty; all from public figures.

Terms used throughout the package:

* *whitened*: in the coordinates ``L^{-1} z``, where ``L L'`` is the second moment of the public rows ``z = (x, y)``.
  The whitened response is the residual of the public fit in units of its residual scale.
* *ball*: the set ``||(x~, c r~)|| <= R`` of whitened joint rows; a row outside it is shortened to its boundary.
* *left out*: a quantity of a public row is as if left out where the moment or the fit behind it excludes that row.
* *tail*: a parametric law of lengths beyond the largest public ones.
"""
