"""The chats in the report and in inspect: every number that was counted is drawn, and hostile names are text."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import dataprep as dp
from dataprep.core.model.dataset import open_dataset
from dataprep.history.card import card
from dataprep.history.message_figures import most_frequent
from dataprep.history.run_summary import summarize, totals
from dataprep.messages.counts import STAGE, clock_of, of_family
from dataprep.report import render
from dataprep.report.chats import ranked
from dataprep.report.sources import sources

EVIL = "<script>"


class Section(HTMLParser):
    """The cards of the section: title -> the texts in it; and the elements there are."""

    def __init__(self) -> None:
        super().__init__()
        self.cards: dict[str, list[str]] = {}
        self.elements: Counter[str] = Counter()
        self.inside = self.is_title = False

    def handle_starttag(self, tag, attrs):
        self.inside |= ("id", "chats") in attrs
        self.is_title = tag == "h3"
        self.elements[tag] += self.inside

    def handle_endtag(self, tag):
        self.inside &= tag != "section"
        self.is_title &= tag != "h3"

    def handle_data(self, data):
        if self.inside and self.is_title:
            self.cards[data] = []
        elif self.inside and self.cards:
            self.cards[list(self.cards)[-1]].append(data)


def test_all_that_was_counted_is_drawn(chatty) -> None:
    """Lists, the week, months and lengths are cards of the section, with the counts that the book has."""
    summary = summarize(str(chatty))
    page = render(summary)
    section = Section()
    section.feed(page)
    assert list(section.cards) == [
        "Messages by weekday and hour", "Messages by month", "Messages by author", "Messages by chat",
        "Kinds of messages", "Languages", "Emoji", "Changes in texts by rule", "Messages per conversation",
        "Duration of conversations", "Time until a reply", "Length of texts",
    ]  # fmt: skip
    book = open_dataset(str(chatty)).stats[STAGE]
    assert {"😂", "👍🏽", "400 "} <= set(section.cards["Emoji"])
    assert section.cards["Messages by author"].count("18 ") == 9  # 400 messages of 23 people: nine have 18
    assert "11 others" in section.cards["Messages by author"]
    titles = section.cards["Messages by weekday and hour"]
    drawn = [re.fullmatch(r"(\w{3}) (\d\d):00: (\d+) messages", title) for title in titles]
    found = {(m[1], int(m[2])): int(m[3]) for m in drawn if m}
    assert len(found) == 7 * 24
    for number, day in ((0, "Mon"), (6, "Sun")):
        assert [found[day, hour] for hour in range(24)] == clock_of(book.counts)[number].tolist()
    assert sum(found.values()) == 400
    assert "emoji" in section.cards["Changes in texts by rule"]
    assert section.elements["script"] == section.elements["img"] == 0
    assert "&lt;script&gt;" in page


def test_no_section_without_the_stage(rich) -> None:
    """Where nobody counted messages, the page says nothing of chats."""
    assert 'id="chats"' not in render(summarize(str(rich)))


def test_others_are_one_row() -> None:
    """The largest are named, the rest is one row, whether the page or the stage left them out."""
    many = Counter({f"n{i:02}": 50 - i for i in range(20)})
    rest = sum(many.values()) - 99
    assert most_frequent(many, 2) == [("n00", 50, True), ("n01", 49, True), ("18 others", rest, False)]
    assert most_frequent(Counter({"others": 3, "a": 1}), 2) == [("a", 1, True), ("others", 3, False)]
    assert most_frequent(Counter()) == []
    page = ranked("Names", Counter({"others": 300, "a": 4, "b": 1}))
    assert re.findall(r"width:([\d.]+)%", page) == ["100.00", "25.00"]
    assert "300 <small>98%" in page
    assert "width" not in ranked("Names", Counter({"others": 3}))


def test_inspect_draws_them(chatty, dataprep) -> None:
    """In a terminal there are bars, months, a week of shades, and no control characters of names."""
    code, said, _ = dataprep("inspect", chatty, "--examples", "0")
    assert code == 0
    book = open_dataset(str(chatty)).stats[STAGE]
    n_conversations = sum(book.histograms["messages per conversation"].values())
    assert f"400 messages of people in {n_conversations} conversations" in said
    most, n = of_family(book.counts, "language").most_common(1)[0]
    assert re.search(rf"^{most} +{n} +█{{40}}$", said, re.MULTILINE)
    assert re.search(r"^2024-05 +\d+ +█+", said, re.MULTILINE)
    assert re.search(r"^Wed  [ ░▒▓█]{48}$", said, re.MULTILINE)
    assert "clock." not in said


def test_documents_whose_source_was_hidden_came_in_once(tmp_path) -> None:
    """Behind Pseudonyms sources have other names: 120 messages came in, not 240, and no alarm says that any went."""
    lines = "".join(f"03/05/2024, {9 + i // 60:02}:{i % 60:02} - Ann{i % 3}: message {i}\n" for i in range(120))
    place = tmp_path / "WhatsApp Chat with Club.txt"
    place.write_text(lines)
    dp.Pipeline(dp.chats.Pseudonyms(), dp.chats.CleanMessages()).run(dp.read(str(place)), out=str(tmp_path / "out"))
    summary = summarize(str(tmp_path / "out"))
    assert summary.alarms == []
    came, left = totals(summary)
    assert (came.docs, left.docs) == (120, 120)
    assert summary.sources["hidden"][1].docs == 120
    for shown in (sources(summary), card(str(tmp_path / "out"))):
        assert "the rows add up to more than all documents" in shown
