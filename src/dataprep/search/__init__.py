"""Suffix arrays of shards on disk, and searches in them; the implementation of SuffixIndex."""
