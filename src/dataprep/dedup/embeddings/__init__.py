"""Implementation of SemDeDup: documents as vectors, learnt or given, clustered and compared."""
