"""Twin of `unicode/byte_masks.py`: a loop over the 64 bytes."""


def bytes_between(data, i, first, last):
    """Return the mask of the bytes data[i:i + 64] that are in first ... last, as int."""
    return sum(1 << k for k in range(64) if first <= data[i + k] <= last)
