"""Where documents came from: the input files of a Dataset, read again."""
