"""The local model: every person's row is randomized on their own device, once; the server sees reports only."""
