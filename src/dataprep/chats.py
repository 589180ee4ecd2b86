"""Stages for messages: they turn chat exports into conversations without names, from which a model learns to answer.

>>> import dataprep as dp
>>> stages = dp.chats.Overlaps(), dp.chats.Pseudonyms(), dp.PII()
>>> safe = dp.Pipeline(*stages).run(dp.read("chats/"), out="work/safe")                             # doctest: +SKIP
>>> talks = dp.Pipeline(dp.chats.Conversations(gap="1h")).run(safe, out="work/conversations")       # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import lazy

if TYPE_CHECKING:
    from .messages.arabic import NormalizeArabic as NormalizeArabic
    from .messages.arabizi import NormalizeArabizi as NormalizeArabizi
    from .messages.clean import CleanMessages as CleanMessages
    from .messages.conversations.stage import Conversations as Conversations
    from .messages.conversations.turns import Turns as Turns
    from .messages.language.stage import MessageLanguage as MessageLanguage
    from .messages.names.consent import Consent as Consent
    from .messages.names.stage import Pseudonyms as Pseudonyms
    from .messages.overlaps import Overlaps as Overlaps
    from .messages.people.propose import propose_people as propose_people
    from .messages.read import read as read
    from .messages.statistics import MessageStats as MessageStats
    from .persona import persona as persona

# Every public name, by the module it is defined in.
_NAMES = {
    "messages.arabic": "NormalizeArabic",
    "messages.arabizi": "NormalizeArabizi",
    "messages.clean": "CleanMessages",
    "messages.conversations.stage": "Conversations",
    "messages.conversations.turns": "Turns",
    "messages.language.stage": "MessageLanguage",
    "messages.names.consent": "Consent",
    "messages.names.stage": "Pseudonyms",
    "messages.overlaps": "Overlaps",
    "messages.people.propose": "propose_people",
    "messages.read": "read",
    "messages.statistics": "MessageStats",
    "persona": "persona",
}
_HOMES = lazy.by_name(_NAMES)
__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list all the same
__getattr__ = lazy.loader(__name__, _HOMES, __all__)


def __dir__() -> list[str]:
    return __all__
