"""A page on which a run is explored, served to this machine: suspicions, sources, clusters, thresholds, documents."""
