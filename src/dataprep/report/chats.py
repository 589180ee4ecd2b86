"""The report's section about chats: authors, times, languages and lengths, if a `MessageStats` stage counted them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from dataprep.core.model.stats import StageStats
from dataprep.errors import counted
from dataprep.history.message_figures import LENGTHS, TITLES, Lengths, length_rows, message_stats, most_frequent
from dataprep.history.run_summary import RunSummary
from dataprep.messages.counts import CONVERSATION_MESSAGES, clock_of, months_of, of_family
from dataprep.shown.notebook import text

from . import charts
from .blocks import card, format_number, plots, section

MOST_MONTHS = 120  # a column each; with more of them, years
NOT_CHANGED = ("names.common_left", "names.shared")  # counts of matches that were left as they are
CHANGING = ("CleanMessages", "PII", "Pseudonyms")  # stages that count their changes by rule


def chats(summary: RunSummary) -> str:
    """Return the report's section about chats as HTML, or "" if no stage counted messages."""
    stats = message_stats(summary.stages)
    if stats is None:
        return ""
    people = sum(of_family(stats.counts, "author").values())
    conversations = sum(stats.histograms.get(CONVERSATION_MESSAGES, Counter()).values())
    lead = (
        f"{counted(people, 'message')} of people in {counted(conversations, 'conversation')}, counted by the stage "
        f"<code>{text(stats.name)}</code>. Hours and days are those that the exports show."
    )
    lists = [ranked(title, of_family(stats.counts, name), name) for name, title in TITLES.items()]
    times = [_clock(stats.counts), _months(stats.counts)]
    histograms = [_lengths(stats, lengths) for lengths in LENGTHS]
    return section("chats", "Chats", lead, plots(*times), plots(*lists, _changed(summary)), plots(*histograms))


def ranked(title: str, found: Counter[str], style: str = "") -> str:
    """Return HTML: the most frequent names, the largest first, each with its count and a bar; "" if there are none.

    - found: the counts by name.
    - style: CSS classes. The other names are summed up in a last row without a bar, since their sum may be longer than
      every other bar.
    """
    if not found:
        return ""
    total = sum(found.values())
    rows = most_frequent(found)
    most = max((n for _, n, is_one in rows if is_one), default=1)
    bar = '<i class="kept" style="width:{:.2f}%"></i>'
    body = "".join(
        f'<tr><th scope="row" dir="auto">{text(name, 40)}</th>'
        f'<td class="bar" aria-hidden="true"><span>{bar.format(100 * n / most) if is_one else ""}</span></td>'
        f"<td>{format_number(n, total)}</td></tr>"
        for name, n, is_one in rows
    )
    inside = f'<table class="bars {style}"><caption class="unseen">{title}</caption><tbody>{body}</tbody></table>'
    return card(inside, title=title)


def _clock(counts: Mapping[str, int]) -> str:
    table = clock_of(counts)
    if not table.any():
        return ""
    return card(charts.week(table.tolist(), "Messages by weekday and hour"), title="Messages by weekday and hour")


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


def _lengths(stats: StageStats, lengths: Lengths) -> str:
    rows = [(label, (n,)) for label, n in length_rows(stats, lengths.histogram)]
    if not rows:
        return ""
    chart = charts.histogram(rows, ("kept",), lengths.axis, f"{lengths.title}: {lengths.unit}", labels=9)
    return card(chart, title=lengths.title)


def _changed(summary: RunSummary) -> str:
    """Return the number of changes that stages made in texts, by rule."""
    found: Counter[str] = Counter()
    for stage in summary.stages:
        if stage.name in CHANGING:
            found.update({name: n for name, n in stage.counts.items() if name not in NOT_CHANGED})
    return ranked("Changes in texts by rule", found)
