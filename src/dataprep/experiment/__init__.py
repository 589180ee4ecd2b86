"""Experiments: train the same small model on several versions of a corpus, and compare them, with intervals."""
