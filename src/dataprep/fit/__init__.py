"""Fit the filters to a language: derive thresholds, stop words and models from a clean reference and a crawl sample."""

from .language import fit_language

__all__ = ["fit_language"]
