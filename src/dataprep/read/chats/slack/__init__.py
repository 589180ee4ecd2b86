"""Slack's exports of a workspace."""
