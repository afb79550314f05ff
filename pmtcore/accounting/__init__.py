"""Privacy accounting: budgets in three units, composition, perturbed objectives."""
