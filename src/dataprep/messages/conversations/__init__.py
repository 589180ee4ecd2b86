"""Conversations: group the messages of a chat, join them, and cut them into windows of turns for training."""
