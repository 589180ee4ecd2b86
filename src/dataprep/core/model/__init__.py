"""The basic types: batches of documents, Datasets, Stages, Estimators, and the records of their work."""
