"""What privacy costs: budgets in three units, composition, the accounting of perturbed objectives."""
