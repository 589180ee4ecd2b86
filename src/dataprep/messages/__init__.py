"""Stages for messages, the documents of chat readers: clean and join them, hide people, make training turns.

Stages depend only on the names of message columns (`read/chats/messages.py` lists them), not on the readers.
"""
