"""Find personal data in text by patterns and a fast filter of lines; the stage `PII` replaces it or drops documents."""
