"""The effects of a run: drop reasons of a document, clusters, cuts, changes, checks; and estimates before a run."""
