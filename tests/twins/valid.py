"""Twin of the check of UTF-8 (`unicode/valid.py`): Python's own decoder."""


def is_utf8(data):
    """Whether bytes are UTF-8."""
    try:
        bytes(data).decode()
    except UnicodeDecodeError:
        return False
    return True
