"""Gopher: drop documents by rules of quality and repetition; and the kernel that counts for these rules."""
