"""Papers A to D as published: figures, claims, errata, theory and lessons; the core imports nothing from here."""
