"""The report: what it says, that nothing in it is loaded or run, and that it holds whatever a corpus throws at it."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

import dataprep as dp
from dataprep import report
from dataprep.history.run_summary import summarize
from dataprep.report import colours, render, results, write

VOID = {"meta", "link", "br", "wbr"}


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects tags, attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.said = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.said.append(data)


def read(page):
    """The page as its parser sees it."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader, " ".join(" ".join(reader.said).split())


@pytest.fixture(scope="module")
def page(rich):
    """The page about the rich run."""
    return render(summarize(str(rich)))


def test_everything_is_told(page):
    """Alarms first; then funnel, sources, duplicates, cuts, examples, lengths, tokens, loss, recipe."""
    _, said = read(page)
    wanted = (
        "Look at this first", "From input to shards", "Drop reasons by source", "Similarity of documents that MinHash",
        "threshold 0.7", "Clusters by size", "The largest clusters", "The least similar removals", "Cut most often",
        "Subscribe & share <this> page", "Dropped by filters", "Documents by length", "tokens", "Loss",
        "Texts that the model wrote", "How it was made", "threshold=0.7", "seed of MinHash", "pyarrow",
        "كان يا ما",
    )  # fmt: skip
    places = [said.find(word) for word in wanted]
    assert dict(zip(wanted, places, strict=True)) == {
        word: at for word, at in zip(wanted, places, strict=True) if at >= 0
    }
    assert "removed 150 of 150 documents of 'wiped out'" in said
    assert said.index("wiped out") < said.index("documents read")


def test_nothing_from_the_corpus_is_html(page):
    """Texts, sources, reasons, folder names and samples stay text; the page runs its own script, and loads nothing."""
    reader, said = read(page)
    assert not {"img", "iframe", "object", "embed"} & reader.tags
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{allowed}'\"" in page
    assert script == Path(report.__file__).with_name("page.js").read_text(encoding="utf-8")
    assert '<script>alert("x")</script>' in said
    assert "short <script>" in said
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "srcset", "action")}
    assert all(value.startswith(("#", "data:,")) for name, value in reader.attributes if name == "href")
    assert not re.search(r"@import|url\(", page)
    assert "\x00" not in page
    assert "\x07" not in page


def test_colours_of_reasons_are_fixed(page):
    """A colour depends on the names of reason and stage alone; no hue is near that of kept documents."""
    assert colours.style_of("Exact", "duplicate") == "--h:45;--v:0"
    assert colours.style_of("Nobody", "a reason of mine") == "--h:49;--v:1"
    assert colours.style_of("MinHash", "near_duplicate") in page
    hues = [int(re.findall(r"\d+", colours.style_of("x", f"reason {i}"))[0]) for i in range(500)]
    assert all(hue <= 190 or hue >= 280 for hue in (*hues, *colours.HUES.values()))
    assert len(set(hues)) > 200
    assert len(set(colours.HUES.values())) == len(colours.HUES)


def test_text_that_a_stage_cut_narrows_the_funnel(tmp_path):
    """A stage that keeps all documents and cuts half of the text has a flat shape of documents, and one of text."""
    (tmp_path / "in.jsonl").write_text('{"text": "' + "a" * 50 + '"}\n' * 1)
    docs = dp.Pipeline(dp.Map(halved)).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out"))
    page = render(summarize(docs.url))
    shapes = re.findall(r'<path class="kept" d="M0,0 H([\d.]+) L([\d.]+),10', page)
    assert shapes[-2:] == [("100.000", "100.000"), ("100.000", "50.000")]


def halved(text: str) -> str:
    """Cut half of a text."""
    return text[: len(text) // 2]


def test_it_can_be_read_by_those_who_do_not_see_it(page):
    """Pictures have names, tables captions and headings, sections labels; corpus texts choose their own direction."""
    for svg in re.findall(r"<svg[^>]*>", page):
        assert 'aria-label="' in svg or 'aria-hidden="true"' in svg
    assert page.count("<table") == page.count("<caption") == page.count("<thead")
    assert all("aria-label" in section for section in re.findall(r"<section[^>]*>", page))
    assert all('dir="auto"' in div for div in re.findall(r'<div class="text[^>]*>', page))
    assert "prefers-color-scheme: dark" in page


def test_figures_add_up(rich, page):
    """What the page says came in and stays is what the books say."""
    docs = dp.open_dataset(str(rich / "clean"))
    came = docs.stats[0].docs_in
    _, said = read(page)
    assert f"{came:,} documents read" in said
    assert f"{docs.count:,} documents kept" in said
    gone = [drop for drop in docs.drops().to_pylist() if drop["duplicate_of"] is not None]
    assert f"{len(gone):,} duplicates in" in said


def test_a_poor_run_has_a_short_page(poor):
    """Sections without contents are not there; nothing dropped is said."""
    reader, said = read(render(summarize(str(poor))))
    assert "No document was dropped" in said
    assert "Duplicates" not in said
    assert "Cut" not in said
    assert "Look at this first" not in said
    assert "svg" in reader.tags


def test_a_copy_and_an_empty_run_have_a_page(poor, tmp_path):
    """A Dataset without any stage, and one of which nothing is left, are reported too."""
    copy = dp.Pipeline().run(dp.open_dataset(str(poor)), out=str(tmp_path / "copy"))
    assert "2 documents read" in read(render(summarize(copy.url)))[1]
    nothing = dp.Pipeline(dp.Filter(never)).run(copy, out=str(tmp_path / "nothing"))
    assert "0 documents kept, 0% of them" in read(render(summarize(nothing.url)))[1]


def told(text: str):
    """A stage that tells the language."""
    return {"language": "ar" if text > "z" else "en" if len(text) > 3 else None}


def test_languages_are_told_where_a_column_has_them(tmp_path):
    """Documents by language, if some stage made the column; what has none is unknown."""
    (tmp_path / "in.jsonl").write_text("\n".join(f'{{"text": "{t}"}}' for t in ("سلام", "hello", "hi", "good day")))
    stage = dp.Map(told, adds={"language": pa.string()})
    docs = dp.Pipeline(stage).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out"))
    summary = summarize(docs.url)
    assert summary.languages == {"en": 2, "ar": 1, "unknown": 1}
    assert "Languages" in read(render(summary))[1]


def never(text: str):
    """A filter that nobody passes."""
    return "never" if text else None


def test_size_is_bounded(tmp_path):
    """Hundreds of sources and reasons with long names, and texts of escapes only, stay far under 2 MB."""
    sources = {}
    for i in range(60):
        place = tmp_path / f"{i}.jsonl"
        place.write_text("\n".join(f'{{"text": "{"&<>" * 900} {i} {n}"}}' for n in range(i, i + 4)))
        sources[f"{i:03d} {'s' * 200}"] = str(place)
    docs = dp.read(sources)
    dp.Pipeline(dp.Filter(each), dp.MinHash(threshold=0.5, shingle="char")).run(docs, out=str(tmp_path / "out"))
    place = write(str(tmp_path / "out"), str(tmp_path / "report.html"))
    size = (tmp_path / "report.html").stat().st_size
    assert place.endswith("report.html")
    assert size < 1_000_000
    assert "<details" in (tmp_path / "report.html").read_text(encoding="utf-8")


def each(text: str):
    """A filter with a hundred reasons."""
    return f"reason {text[-9:]}{'r' * 200}" if int(text[-2:].strip()) % 2 else None


def test_troubles_of_training_are_listed():
    """Spikes, skipped steps, rollbacks and a loss that rose are sentences; a calm run has none."""
    rows = [{"step": n, "loss": 2.0, "spike": n % 2 == 0} for n in range(1, 31)]
    rows += [{"step": 31, "skipped": True}, {"step": 20, "rolled_back_from": 31, "skipped": 3}]
    rows += [{"step": 32, "loss": 5.0, "risen_from": 2.5}]
    said = results._troubles(rows)
    assert " The loss had a spike at step 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24 and 3 more." in said
    assert " The weights were not changed at step 31." in said
    assert " At step 31 the run returned to step 20." in said
    assert " The loss has risen from 2.50 by step 32: training diverged." in said
    assert not results._troubles(rows[:1])
