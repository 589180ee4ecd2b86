"""Load the vocabulary of a run once per worker, for all of its tasks."""

from __future__ import annotations

from dataprep.errors import CorruptShard

from .tokenizer import Tokenizer

_LOADED: dict[tuple[str, str], Tokenizer] = {}


def keep_loaded(url: str, tok: Tokenizer) -> str:
    """Cache the tokenizer `tok`, stored at `url`, for later calls of `load_once` in this process; return `url`."""
    _LOADED.clear()  # one at a time: a run has one vocabulary
    _LOADED[url, tok.hash] = tok
    return url


def load_once(url: str, expected: str) -> Tokenizer:
    """Return the tokenizer at a URL, loaded once per process. Raises CorruptShard if its hash is not `expected`."""
    if (url, expected) not in _LOADED:
        tok = Tokenizer.load(url)
        if tok.hash != expected:
            msg = f"{url} is not the tokenizer that this run started with; give each run its own folder"
            raise CorruptShard(msg)
        keep_loaded(url, tok)
    return _LOADED[url, expected]
