"""The methods. Each file registers its own; the registry finds them all."""
