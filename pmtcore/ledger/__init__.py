"""The durable budget: a log that can only grow, its tables, and what a data set has left."""
