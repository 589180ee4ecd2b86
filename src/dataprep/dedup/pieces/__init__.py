"""Paragraphs, lines and spans of sentences that stand earlier. The machine behind Exact(unit=...)."""
