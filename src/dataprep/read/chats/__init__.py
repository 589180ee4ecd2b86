"""Chat exports, one file per platform: readers yield the same columns, one document per message (`messages.py`)."""
