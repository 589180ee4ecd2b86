"""Stages on messages, the documents that chat readers make: clean and join them, hide people, make training turns.

Stages know the message columns by name only (`read/chats/messages.py` lists them), not the readers.
"""
