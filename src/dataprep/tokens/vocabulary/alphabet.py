"""The printable character that represents each byte in `tokenizer.json` and `merges.txt`, as GPT-2 chose them."""


def _byte_chars() -> dict[int, str]:
    """Return the character of each byte: itself if it is printable, else the next one from U+0100."""
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in prints]
    return {b: chr(b) for b in prints} | {b: chr(0x100 + i) for i, b in enumerate(others)}


CHAR_OF = _byte_chars()
BYTE_OF = {c: b for b, c in CHAR_OF.items()}


def to_chars(token: bytes) -> str:
    """Return bytes in the spelling of `tokenizer.json` and `merges.txt`: one printable character per byte."""
    return "".join(map(CHAR_OF.__getitem__, token))


def to_bytes(token: str) -> bytes:
    """Return the bytes of a token spelled as in `tokenizer.json`."""
    return bytes(map(BYTE_OF.__getitem__, token))
