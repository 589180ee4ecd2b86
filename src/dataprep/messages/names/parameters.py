"""Check the parameters of `Pseudonyms`."""

from __future__ import annotations

import os
from typing import Any

from dataprep.core.model.dataset import Dataset
from dataprep.errors import DataprepError, PlanError
from dataprep.read.chats.messages import KINDS
from dataprep.store import files

from .consent import Consent, names_in
from .matching import words
from .phones import phone
from .pseudonyms import digest

MIN_KEY_BYTES = 16
_TYPES: dict[str, tuple[Any, str]] = {
    "key": ((str, bytes, type(None)), "the path of a file, 'env:NAME', bytes or None"),
    "mapping": ((str, os.PathLike, type(None)), "a path, or None"),
    "exports": ((Dataset, type(None)), "what dp.read returns for the exports"),
    "consent": ((Consent, type(None)), 'a Consent, such as Consent(refused="refused.txt")'),
    "min_chars": (int, "a whole number"),
    "min_suffix_letters": (int, "a whole number"),
    "pseudonym_format": (str, "a string with {}"),
    "prefixes": (str, "a string of letters"),
    "pii": (bool, "True or False"),
    "detect_common_words": (bool, "True or False"),
}


def check_types(stage: Any) -> None:
    """Raise PlanError if a parameter of a `Pseudonyms` is of a wrong type, or names an unknown kind of message."""
    for name, (types, wanted) in _TYPES.items():
        value = getattr(stage, name)
        is_wrong = not isinstance(value, types) or (isinstance(value, bool) and types is int)
        if is_wrong or (value == "" and name in ("key", "mapping", "pseudonym_format")):
            shown = type(value).__name__ if name == "key" else repr(value)  # it is a secret
            msg = f"Pseudonyms({name}={shown}) must be {wanted}"
            raise PlanError(msg)
    for name in ("common_words", "redact_kinds", "keep_meta"):
        value = getattr(stage, name)
        of_texts = isinstance(value, (tuple, list, set, frozenset)) and all(isinstance(one, str) for one in value)
        if not of_texts and not (value is None and name == "common_words"):
            msg = f"Pseudonyms({name}={value!r}) must be a tuple of words, such as ({str(value)!r},)"
            raise PlanError(msg)
    unknown = sorted(set(stage.redact_kinds) - set(KINDS))
    if unknown:
        msg = f"Pseudonyms(redact_kinds=) has {unknown[0]!r}, which must be one of {', '.join(KINDS)}"
        raise PlanError(msg)


def searchable(names: Any) -> tuple[str, ...]:
    """Return the names given to `Pseudonyms`, as `names_in` does. Raises PlanError if one has no letters or digits."""
    found = names_in("Pseudonyms", names)
    nothing = next((name for name in found if not words(name) and not phone(name)), None)
    if nothing is not None:
        msg = f"the name {nothing!r} given to Pseudonyms has no letters, so it cannot be found in texts; remove it"
        raise PlanError(msg)
    return found


def secret_of(given: str | bytes | None) -> bytes | None:
    """Return the bytes of a key, or their hash if they are more than 64 (BLAKE2b's limit).

    Raises PlanError if the key cannot be read or is short.
    """
    if given is None:
        return None
    if isinstance(given, bytes):
        found = given
    elif given.startswith("env:"):
        if given[4:] not in os.environ:
            msg = f"the environment variable {given[4:]}, which key={given!r} names, is not set; set it to a secret"
            raise PlanError(msg)
        found = os.environ[given[4:]].strip().encode()
    else:
        try:
            with files.open_read(given) as f:
                found = f.read().strip()
        except (DataprepError, OSError, ValueError):  # which name the path: it may be the secret itself
            what = "a string must be the path of a file, or env:NAME; pass a secret as bytes"
            msg = f"could not read the key of Pseudonyms ({what}); make one: openssl rand -hex 32 > people.key"
            raise PlanError(msg) from None
    if len(found) < MIN_KEY_BYTES:
        msg = (
            f"the key of Pseudonyms has {len(found)} bytes; it must have at least {MIN_KEY_BYTES} that nobody can "
            "guess; make one: openssl rand -hex 32 > people.key"
        )
        raise PlanError(msg)
    return found if len(found) <= 64 else bytes.fromhex(digest(found[:64], "key", found.hex()))
