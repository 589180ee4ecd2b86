"""The history of a run: dropped documents, clusters, cuts, changes, checks; and estimates before a run."""
