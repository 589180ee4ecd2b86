"""C4: the heuristics of the Colossal Clean Crawled Corpus for web pages, and their kernels."""
