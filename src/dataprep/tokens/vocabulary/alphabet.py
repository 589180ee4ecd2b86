"""The printable character that stands for each byte in `tokenizer.json` and `merges.txt`, as GPT-2 chose them."""


def _byte_chars() -> dict[int, str]:
    """Itself where it prints, else the next from U+0100."""
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in prints]
    return {b: chr(b) for b in prints} | {b: chr(0x100 + i) for i, b in enumerate(others)}


CHAR_OF = _byte_chars()
BYTE_OF = {c: b for b, c in CHAR_OF.items()}


def to_chars(token: bytes) -> str:
    """Bytes as `tokenizer.json` and `merges.txt` write them: one printable character a byte."""
    return "".join(map(CHAR_OF.__getitem__, token))


def to_bytes(token: str) -> bytes:
    """The bytes behind a token as `tokenizer.json` writes it."""
    return bytes(map(BYTE_OF.__getitem__, token))
