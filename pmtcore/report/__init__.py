"""Output for people: sentences about figures, the report, and charts."""
