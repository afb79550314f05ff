"""Words that everything speaks: argument checks, and the three kinds of numbers."""
