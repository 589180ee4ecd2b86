"""Implementation of SemDeDup: documents as vectors, learned or given, clustered and compared."""
