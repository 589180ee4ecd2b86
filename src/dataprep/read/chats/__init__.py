"""Readers of chat exports, one file per platform; all yield the same columns, one document per message."""
