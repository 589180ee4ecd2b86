"""JSON: the JSON Lines reader, its scanner, the grammar, and a streaming reader of large files."""
