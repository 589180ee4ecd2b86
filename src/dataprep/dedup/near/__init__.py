"""Which documents are alike: sign, match, cluster, gather, verify. The machine behind Exact, MinHash and URL."""
