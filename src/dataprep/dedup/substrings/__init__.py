"""Implementation of SuffixArray, with two engines: find windows of words or bytes that occurred earlier."""
