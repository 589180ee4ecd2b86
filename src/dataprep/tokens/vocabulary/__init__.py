"""Vocabularies: train a byte-level BPE, read and write its files, and encode texts."""
