"""Chat exports, one file a platform: every reader gives the same columns, one document a message (`messages.py`)."""
