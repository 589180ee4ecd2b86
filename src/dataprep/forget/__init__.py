"""Removal on request: delete documents from everything that a run made of them."""
