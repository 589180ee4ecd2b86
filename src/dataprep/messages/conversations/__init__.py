"""Conversations: group messages of a chat, join them, and cut windows of turns."""
