"""Study, never release: comparison, audit, planted faults, attacks, diagnostics."""
