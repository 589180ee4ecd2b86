"""WhatsApp exports: headers, dates, placeholders and events of every phone and language."""
