"""Implementation of SuffixArray: find windows of words or bytes that occurred earlier; there are two engines."""
