"""Names of people: find them, replace them by pseudonyms, and apply consent."""
