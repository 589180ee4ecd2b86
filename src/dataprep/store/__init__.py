"""Stored files: open, list, compress and hash files, and write each file so that it appears complete or not at all."""
