"""Text classifiers: language identification and quality."""
