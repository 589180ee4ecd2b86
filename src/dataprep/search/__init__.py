"""Implementation of SuffixIndex: suffix arrays on disk, and searches in them."""
