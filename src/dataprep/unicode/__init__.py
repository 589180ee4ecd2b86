"""Text in any script: character tables, words, sentences, white space, and `@kernel` for compiled functions."""
