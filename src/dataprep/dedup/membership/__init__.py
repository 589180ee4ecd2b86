"""Implementation of Bloom: hashes of text units (keys), a count of distinct keys, and the filter that looks them up."""
