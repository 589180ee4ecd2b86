"""Find similar documents: sign, match, cluster, gather, verify. The implementation of Exact, MinHash and URL."""
