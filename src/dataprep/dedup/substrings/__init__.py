"""Find windows of words or bytes that occurred earlier; there are two engines. The implementation of SuffixArray."""
