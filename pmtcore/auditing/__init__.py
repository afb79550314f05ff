"""Studies for the lab, whose figures may not leave: comparison, audit, planted faults, attacks, diagnostics."""
