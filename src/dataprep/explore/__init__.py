"""A page to explore a run, served on this machine only: suspicions, sources, clusters, thresholds, documents."""
