"""N-gram language models: modified Kneser-Ney as KenLM's `lmplz` estimates it, without its compiler."""

from .training import NgramModel, train

__all__ = ["NgramModel", "train"]
