"""Filters: stages that keep, trim or drop a document by looking at that document alone."""
