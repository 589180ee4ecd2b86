"""Vocabularies: train a byte-level BPE, read and write its files, and encode texts."""

from . import characters as characters  # so that `Tokenizer.load` can open them
from . import openers as openers
