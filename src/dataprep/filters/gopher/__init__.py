"""Gopher: drop documents by quality and repetition rules; includes the kernel that computes their statistics."""
