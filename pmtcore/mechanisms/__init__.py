"""Where boxes open: noise, the integer grid, truncation, objective perturbation, randomizers."""
