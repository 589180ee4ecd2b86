"""The words of the system: documents in batches, Datasets, Stages, Estimators, and the record of what they did."""
