"""The history of a run: dropped documents, clusters of duplicates, cuts, changes, checks; and estimates before a run."""
