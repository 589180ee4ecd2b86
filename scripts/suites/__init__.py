"""Public suites that nobody here wrote, run against the readers and detectors: `make test-suites`."""
