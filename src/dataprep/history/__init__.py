"""The history of a run: dropped documents, clusters of duplicates, cuts, changes, checks; estimates before a run."""
