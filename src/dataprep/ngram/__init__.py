"""N-gram language models: modified Kneser-Ney, as in KenLM's `lmplz`, which needs a C++ compiler."""

from .training import NgramModel, train

__all__ = ["NgramModel", "train"]
