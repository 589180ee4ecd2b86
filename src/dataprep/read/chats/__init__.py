"""Readers of chat exports, one module or folder per platform; all yield the same columns, one document per message."""
