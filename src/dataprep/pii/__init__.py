"""Personal data in text: patterns, a fast filter of lines, and the stage `PII`, which replaces it or drops texts."""
