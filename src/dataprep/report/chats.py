"""Report section on chats: who writes, when, in which languages, how long conversations last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from dataprep.core.stats import StageStats
from dataprep.messages.counts import (
    CHARS,
    CONVERSATION_MESSAGES,
    CONVERSATION_SECONDS,
    OTHERS,
    REPLY_SECONDS,
    STAGE,
    clock_of,
    months_of,
    of_family,
)

from . import charts
from .blocks import card, number, plots, section, text
from .page_data import Facts

SHOWN = 12  # names in a list, the rest is one row
MOST_MONTHS = 120  # a column each; with more of them years
TITLES = {  # the lists, in their order on the page
    "author": "Messages by author",
    "chat": "Messages by chat",
    "kind": "Kinds of messages",
    "language": "Languages",
    "emoji": "Emoji",
}
LENGTHS = (  # histogram, title, what is counted, the axis
    (CONVERSATION_MESSAGES, "How many messages a conversation has", "conversations", "Messages, under"),
    (CONVERSATION_SECONDS, "How long conversations last", "conversations", "Time, under"),
    (REPLY_SECONDS, "How fast people answer", "replies", "Time, under"),
    (CHARS, "How long texts are", "texts", "Characters, under"),
)
LEFT = ("names.common_left", "names.shared")  # what such a stage found and did not change
CHANGING = ("CleanMessages", "PII", "Pseudonyms")  # stages that count what they change by rule


def chats(facts: Facts) -> str:
    """The section, if a stage of the run counted messages."""
    book = messages_book(facts.books)
    if book is None:
        return ""
    people, n_conversations = sum(of_family(book.counts, "author").values()), _n(book, CONVERSATION_MESSAGES)
    lead = (
        f"{people:,} messages of people in {n_conversations:,} conversations, as "
        f"<code>{text(book.name)}</code> counted them. Hours and days are those of the exporting clock."
    )
    lists = [ranked(title, of_family(book.counts, name), name) for name, title in TITLES.items()]
    times = [_clock(book.counts), _months(book.counts)]
    lengths = [_lengths(book, *what) for what in LENGTHS]
    return section("chats", "The chats", lead, plots(*times), plots(*lists, _changed(facts)), plots(*lengths))


def messages_book(books: Sequence[StageStats]) -> StageStats | None:
    """The first book of `MessageStats`; None: nobody counted messages."""
    return next((book for book in books if book.name.startswith(STAGE)), None)


def ranked(title: str, found: Counter[str], style: str = "") -> str:
    """A list with bars, the largest first; the others are one row without a bar, which would dwarf all."""
    if not found:
        return ""
    total = sum(found.values())
    rows = shown(found)
    most = max((n for _, n, is_one in rows if is_one), default=1)
    body = "".join(
        f'<tr><th scope="row" dir="auto">{text(name, 40)}</th>'
        f'<td class="bar" aria-hidden="true"><span>{_bar(n / most) if is_one else ""}</span></td>'
        f"<td>{number(n, total)}</td></tr>"
        for name, n, is_one in rows
    )
    inside = f'<table class="bars {style}"><caption class="unseen">{title}</caption><tbody>{body}</tbody></table>'
    return card(inside, title=title)


def _bar(share: float) -> str:
    return f'<i class="kept" style="width:{100 * share:.2f}%"></i>'


def shown(found: Counter[str], most: int = SHOWN) -> list[tuple[str, int, bool]]:
    """The largest, and behind them all others together; whether a row is of one name."""
    named = sorted(((name, n) for name, n in found.items() if name != OTHERS), key=lambda kv: (-kv[1], kv[0]))
    rest = found[OTHERS] + sum(n for _, n in named[most:])
    n_others = len(named[most:])
    name = f"{n_others:,} others" if n_others and not found[OTHERS] else OTHERS
    return [*((name, n, True) for name, n in named[:most]), *([(name, rest, False)] if rest else [])]


def _clock(counts: Mapping[str, int]) -> str:
    table = clock_of(counts)
    if not table.any():
        return ""
    return card(charts.week(table.tolist(), "Messages by weekday and hour"), title="When people write")


def _months(counts: Mapping[str, int]) -> str:
    months = months_of(counts)
    unit = "Month"
    if len(months) > MOST_MONTHS:
        years: Counter[str] = Counter()
        for name, n in months:
            years[name[:4]] += n
        months, unit = list(years.items()), "Year"
    if not months:
        return ""
    rows = [(name, (n,)) for name, n in months]
    chart = charts.histogram(rows, ("kept",), unit, f"Messages by {unit.lower()}", labels=6)
    return card(chart, title=f"Messages by {unit.lower()}")


def length_rows(book: StageStats, name: str) -> list[tuple[str, int]]:
    """A histogram of LENGTHS with its labels, the ends of the buckets."""
    found = book.histograms.get(name, Counter())
    said: Callable[[int], str] = _time if "second" in name else _number
    buckets = range(min(found), max(found) + 1) if found else ()
    return [(said(1 << bits), found.get(bits, 0)) for bits in buckets]


def _lengths(book: StageStats, name: str, title: str, what: str, axis: str) -> str:
    rows = [(label, (n,)) for label, n in length_rows(book, name)]
    if not rows:
        return ""
    return card(charts.histogram(rows, ("kept",), axis, f"{title}: {what}", labels=9), title=title)


def _number(n: int) -> str:
    return f"{n}" if n < 1024 else f"{n >> 10}k"


def _time(seconds: int) -> str:
    """A power of two of seconds, in the largest unit that it holds."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _n(book: StageStats, name: str) -> int:
    return sum(book.histograms.get(name, Counter()).values())


def _changed(facts: Facts) -> str:
    """What stages took out of texts or wrote anew, by rule."""
    found: Counter[str] = Counter()
    for book in facts.books:
        if book.name in CHANGING:
            found.update({name: n for name, n in book.counts.items() if name not in LEFT})
    return ranked("What was changed in texts", found)
