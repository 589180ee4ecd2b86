"""C4: the heuristics of the Colossal Clean Crawled Corpus, and their kernels."""
