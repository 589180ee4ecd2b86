"""Stages on messages, the documents that chat readers give: join them, clean them, hide people, make turns to train on.

They know the message columns by name only (`read/chats/messages.py` lists them), not the readers.
"""
