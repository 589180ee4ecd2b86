"""Tokens: train a byte-level BPE, encode documents with it, and keep the ids in memory-mapped shards.

`shard` owns the uint16 files (numpy only: a trainer needs nothing else), `split` the train and validation sides,
`tokenizer` the vocabulary and the engines that read it, `train` and `encode` the two passes over a Dataset. Texts
become ids in `encoder`: `patterns` and `words` cut them, `merge` merges the words that were not seen before.
"""
