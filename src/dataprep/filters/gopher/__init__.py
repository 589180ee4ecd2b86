"""Gopher: rules of quality and repetition, and the kernel that counts for them."""
