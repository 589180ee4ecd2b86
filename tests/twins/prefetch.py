"""Twin of `unicode/prefetch.py`: no result depends on what was loaded."""


def prefetch(_array, _i):
    """Do nothing."""
