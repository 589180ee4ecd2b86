"""The origin of documents: read the input files of a Dataset again."""
