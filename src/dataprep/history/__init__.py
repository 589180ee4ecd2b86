"""What a run did: why a document was dropped, clusters, cuts, changes, checks, and estimates before a run."""
