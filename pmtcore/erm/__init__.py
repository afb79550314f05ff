"""Empirical risk minimization with a perturbed objective: losses, solvers, accounting, mechanisms (paper D)."""
