"""Suffix arrays of shards on disk, and questions to them. The machine behind SuffixIndex."""
