"""Bytes at rest: open, list, compress, hash, and write whole files once."""
