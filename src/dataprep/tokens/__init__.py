"""Tokens: train a byte-level BPE, encode documents with it, and keep the ids in memory-mapped shards.

`shard` owns the uint16 files (numpy only: a trainer needs nothing else), `split` the train and validation sides,
`tokenizer` the vocabulary and its two engines, `train` and `encode` the two passes over a Dataset.
"""
