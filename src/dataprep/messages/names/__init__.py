"""Find names of people, replace them by pseudonyms, and drop messages of people who did not agree."""
