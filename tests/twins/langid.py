"""Twin of `filters/classifiers/models.py`: py3langid as it is."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def plain() -> Any:
    """Return the library's own identifier, which walks over the bytes in Python."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
