"""One release from request to record; planning beforehand, and what a budget retrieved."""
