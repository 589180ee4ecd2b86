"""Tokens: train a byte-level BPE, encode documents with it, and store the ids in memory-mapped files (shards).

`vocabulary/` trains and applies tokenizers, `shards/` writes and reads the uint16 files (reading needs numpy only),
`mix/` writes mixtures of shards, `split` assigns documents to train, validation and test, `sample` draws the texts that
a tokenizer is trained on, `templates` and `dialogue` encode conversations.
"""
