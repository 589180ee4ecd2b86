"""Documents as vectors: learned or given, clustered, compared. The machine behind SemDeDup."""
