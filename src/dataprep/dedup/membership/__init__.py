"""Bloom's implementation: keys, a count of distinct keys, and the filter in which they are looked up."""
