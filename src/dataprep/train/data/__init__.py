"""Training data: rows of tokens from shards, by layout, objective and mixture of several sets."""
