"""Names of people: find them, replace them by pseudonyms, and drop messages of people who did not agree."""
