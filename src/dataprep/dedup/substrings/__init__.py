"""Windows of words or bytes that stand earlier, by two engines. The machine behind SuffixArray."""
