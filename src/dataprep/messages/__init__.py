"""Stages on messages, the documents of the chat readers: clean and join them, hide people, make turns to train on.

Stages know the message columns by name only (`read/chats/messages.py` lists them), not the readers.
"""
