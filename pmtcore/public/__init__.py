"""What is free: whitening, radius, public fits, gradient sizes, error bands, all from public figures alone."""
