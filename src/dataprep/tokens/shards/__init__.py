"""Token shards: encode Datasets, read, check, export and import them."""
