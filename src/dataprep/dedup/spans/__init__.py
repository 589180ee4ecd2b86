"""Implementation of Exact(unit=...): paragraphs, lines and spans of sentences that occurred before."""
