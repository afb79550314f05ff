"""The local model as methods of the registry: collections simulated for the lab and for comparison."""
