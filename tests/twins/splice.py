"""Plain replacement of ranges of bytes in texts."""


def spliced(texts: list[bytes], spans: list[tuple[int, int, int, bytes]]) -> list[bytes]:
    """Return the texts with each range (text, begin, end, new bytes) replaced; the ranges are in order."""
    out = list(texts)
    for text, begin, end, new in reversed(spans):
        out[text] = out[text][:begin] + new + out[text][end:]
    return out
