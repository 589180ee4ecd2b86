"""Find windows of words or bytes that occur earlier, by two engines. The implementation of SuffixArray."""
