"""Train n-gram language models with modified Kneser-Ney smoothing, as KenLM's `lmplz` does, without a C++ compiler."""

from .training import NgramModel, train

__all__ = ["NgramModel", "train"]
