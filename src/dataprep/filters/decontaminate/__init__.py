"""Decontaminate: find documents that share runs of words with evaluation sets."""
