"""Decide the charset of a document, for all readers: names, declarations, detection, and the choice."""
