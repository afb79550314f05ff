"""Study, never release: comparison, audit, faults, attacks, diagnostics, lessons, the gallery of the papers."""
