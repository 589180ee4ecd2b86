"""Find similar documents: hash, match, cluster, gather, verify. The implementation of Exact, MinHash and URL."""
