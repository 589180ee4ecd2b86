"""Stored files: open, list, compress, hash, and write each whole or not at all."""
