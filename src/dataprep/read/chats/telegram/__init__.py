"""Readers of Telegram Desktop's chat exports: `result.json` and HTML pages."""
