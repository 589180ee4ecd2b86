"""Backups of text messages and calls by SMS Backup & Restore (XML)."""
