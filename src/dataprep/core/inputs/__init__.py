"""Restore where documents came from: read the input files of a Dataset again."""
