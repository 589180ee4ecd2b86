"""Telegram Desktop exports: `result.json` and HTML pages."""
