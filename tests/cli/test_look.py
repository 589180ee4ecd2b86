"""The commands that show what deduplication did: clusters, why, inspect."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass

import pytest
from rich.console import Console

import dataprep as dp
from dataprep import extend
from dataprep.cli.look import _stage_table
from dataprep.core.model.batch import show_id
from dataprep.core.model.stats import Amount, StageStats, Stats
from dataprep.history import clusters, why
from dataprep.history.run_summary import summarize
from dataprep.history.texts import bytes_outside
from dataprep.report import render

PAGE = "the quick brown fox jumps over the lazy dog and runs home before the rain begins to fall on {} tonight"


def test_clusters_shows_sizes_reasons_and_both_texts(dataprep, rich):
    """By default the largest clusters: dropped documents by reason, and the texts with the words that differ."""
    code, said, _ = dataprep("clusters", rich)
    assert code == 0
    top = clusters.find_clusters(str(rich)).largest(1)[0]
    assert f"{top.removed} documents dropped as duplicates of {show_id(top.duplicate_of)}" in said
    assert f"{top.removed} MinHash: near_duplicate" in said
    assert said.count("the quick brown fox") >= 4
    assert re.search(r"documents in a cluster +clusters +removed", said)


def test_clusters_of_one_source_and_the_least_similar(dataprep, rich):
    """`--source` counts only what was removed of it; `--least-similar` begins with the most doubtful pair."""
    code, said, _ = dataprep("clusters", rich, "--largest", 9, "--source", "عربي")
    assert code == 0
    assert said.count("duplicates of") == 1
    assert "1 document of عربي dropped as duplicates of 0:0" in said
    assert "no document of the source 'nobody'" in dataprep("clusters", rich, "--source", "nobody")[1]
    code, said, _ = dataprep("clusters", rich, "--least-similar", 2)
    found = clusters.least_similar(str(rich), 2)
    assert [f"{drop.similarity:.3f}" for drop in found] == re.findall(r"^(0\.\d{3}) MinHash", said, re.MULTILINE)


def test_clusters_shows_what_was_cut_most_often(dataprep, rich):
    """`--cuts` prints the text, how often it was cut, and its first occurrence."""
    code, said, _ = dataprep("clusters", rich, "--cuts", 3)
    assert code == 0
    assert re.search(r"5 times 92 bytes, first occurs in \d+:\d+ at byte \d+", said)
    assert "Subscribe & share <this> page" in said
    assert "leave --source out" in dataprep("clusters", rich, "--cuts", 3, "--source", "a")[2]


def test_why_shows_what_was_cut_and_where_it_stands_first(dataprep, rich):
    """A document that lost text: which bytes, what they say, and the first occurrence in its own context."""
    cut = dp.open_dataset(str(rich / "clean")).cuts().to_pylist()[0]
    code, said, _ = dataprep("why", rich, show_id(cut["id"]))
    assert code == 0
    assert f"Lines cut one span out of {show_id(cut['id'])}, {cut['end'] - cut['start']} bytes" in said
    assert f"first occurs in {show_id(cut['duplicate_of'])}, byte {cut['duplicate_of_start']}" in said
    assert said.count("Subscribe & share <this> page") == 2, "cut here, and where it stands; no longer in the text"
    assert f"{show_id(cut['id'])} is kept in" in said


def test_why_of_a_text_left_too_short(dataprep, tmp_path):
    """A document that was cut away to nothing is shown as it was."""
    line = "this line stands in every one of the pages, word for word"
    rows = [f"One beginning of a page.\n{line}\n", f"{line}\n"]
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in rows))
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "run" / "ingest"))
    dp.Pipeline(dp.Exact(unit="line")).run(docs, out=str(tmp_path / "run" / "clean"))
    gone = dp.open_dataset(str(tmp_path / "run" / "clean")).drops().to_pylist()
    assert [row["reason"] for row in gone] == ["too_short_after_cuts"]
    code, said, _ = dataprep("why", tmp_path / "run", gone[0]["id"])
    assert code == 0
    assert "too_short_after_cuts" in said
    assert said.count(line) == 3, "cut here, first there, and the text as it was"


def test_survivors_in_another_dataset_are_read_there(dataprep, tmp_path):
    """With `against=`, why and clusters show the older Dataset's text; without it, that there is no text."""
    for name, texts in (("old", [PAGE.format("hills")]), ("new", ["fresh", PAGE.format("hilltops")])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    minhash = dp.MinHash(threshold=0.7)
    dp.Pipeline(minhash).run(dp.read(str(tmp_path / "old.jsonl")), out=str(tmp_path / "old"))
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "new.jsonl")), out=str(tmp_path / "run" / "ingest"))
    newer = dp.MinHash(threshold=0.7, against=str(tmp_path / "old"))
    dp.Pipeline(newer).run(docs, out=str(tmp_path / "run" / "clean"))
    gone = dp.open_dataset(str(tmp_path / "run" / "clean")).drops().to_pylist()
    assert gone[0]["duplicate_of_dataset"] == str(tmp_path / "old")
    for words in (("why", tmp_path / "run", gone[0]["id"]), ("clusters", tmp_path / "run")):
        code, said, _ = dataprep(*words)
        assert code == 0
        assert "hills " in said.replace("\n", " ")
        assert "hilltops" in said
    shutil.rmtree(tmp_path / "old")
    assert "(no text: " in dataprep("why", tmp_path / "run", gone[0]["id"])[1]


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """A run that drops a page for another, and that one for its length."""
    place = tmp_path_factory.mktemp("lossy")
    texts = ["tiny", "tiny", "tiny", PAGE.format("hills"), PAGE.format("hills")]
    (place / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    stages = (dp.Exact(), dp.Filter(long_enough), dp.Gopher(min_words=99))
    dp.Pipeline(*stages).run(dp.read(str(place / "in.jsonl")), out=str(place / "out"))
    return place / "out"


def test_a_cluster_without_a_survivor_is_said_by_all(dataprep, lossy):
    """`inspect`, `clusters`, `why` and the report agree on what is left."""
    lost = clusters.find_clusters(str(lossy)).no_survivor()
    assert (lost.n, lost.of, len(lost.roots)) == (3, 3, 2)
    alarm = "3 of 3 duplicates, in 2 clusters, without a survivor: what was kept instead was dropped later"
    for words in (("inspect", lossy), ("clusters", lossy), ("clusters", lossy, "--lost", "1")):
        assert alarm in " ".join(dataprep(*words)[1].split())
    assert dataprep("clusters", lossy, "--lost", "1")[1].count("the kept document was dropped later by") == 1
    found = json.loads(dataprep("inspect", lossy, "--json")[1])["duplicates"]
    own = [{"source": "in", "duplicate_of_source": "in", "documents": 3}]
    lost = {"documents": 3, "no_survivor": 3, "clusters_without_survivor": 2}
    assert found == lost | {"sources": own, "alarms": []}
    gone = clusters.find_clusters(str(lossy)).ids[0]
    assert "no survivor" in dataprep("why", lossy, gone)[1]
    page = render(summarize(str(lossy)))
    assert alarm in page
    assert page.count("none is kept</span>: ") == 2
    assert page.count('<span class="title" dir="auto">tiny</span>') == 2
    assert "is kept <span>" not in page


def test_why_prints_what_a_rule_compared(dataprep, lossy, tmp_path):
    """The score of a filter; the language and its probability."""
    words = len(PAGE.format("hills").split())
    short = next(row["id"] for row in dp.open_dataset(str(lossy)).drops().to_pylist() if row["stage"] == "Gopher")
    assert f"dropped by Gopher: too_few_words ({words})" in " ".join(dataprep("why", lossy, short)[1].split())
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": PAGE.format("hills")}))
    dp.Pipeline(Told()).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out"))
    assert "dropped by Told: not_wanted (fr 0.25)" in " ".join(dataprep("why", tmp_path / "out", "0:0")[1].split())


@dataclass(frozen=True)
class Told(extend.Stage):
    """Drops every document as one of a language."""

    def __call__(self, batches, stats):
        """Yield no document."""
        for batch in batches:
            stats.drop(batch["id"], "not_wanted", value=0.25, label="fr")
            yield batch.slice(0, 0)


def test_texts_do_not_command_the_terminal(dataprep, tmp_path):
    """Escape sequences in a text are shown as what they are, by every command that prints it."""
    rows = [f"\x1b[2J\x1b]0;owned\x07 {PAGE.format('hills')}", f"\x1b[2J {PAGE.format('hilltops')}", "\x1b[31mshort"]
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in rows))
    stages = (dp.Filter(long_enough), dp.MinHash(threshold=0.6))
    dp.Pipeline(*stages).run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "out"))
    gone = clusters.least_similar(str(tmp_path / "out"), 1)[0].id
    for words in (("clusters", tmp_path / "out"), ("why", tmp_path / "out", gone), ("inspect", tmp_path / "out")):
        code, said, _ = dataprep(*words)
        assert code == 0
        assert not set(said) & {"\x1b", "\x07"}
        assert "\N{REPLACEMENT CHARACTER}[" in said


def long_enough(text: str):
    """A filter, whose example is printed by inspect."""
    return len(text) > 30


def test_inspect_begins_with_the_largest_losses():
    """Totals, then sources by lost documents and lost text; `--all` prints the rest; a count of what is not shown."""
    stage = StageStats("A", {f"s{i}": Amount(100, 100 * i) for i in range(9)}, dropped={"late": {}, "early": {}})
    for i in range(9):
        stage.out[f"s{i}"] = Amount(100 - i % 4, 50 * i)
        stage.dropped["early"][f"s{i}"] = Amount(i % 4, 0)
    stage.counts = Counter({f"c{i}": i + 1 for i in range(20)})
    few, everything = (_plain(_stage_table(stage, None, everything=both)) for both in (False, True))
    firsts = [line.split()[0] for line in few if line[:1] not in (" ", "")]
    assert firsts == ["A", "source", "all", "s7", "s3", "s6", "s2", "s5", "s1", "3"]
    assert "all sources 900 888 12" in " ".join(few[2].split())
    assert few[3].split() == ["-", "early", "12"]
    assert [line.split() for line in few if "see --all" in line] == [
        ["3", "more", "sources,", "see", "--all", "0"], [".", "8", "smaller", "counts,", "see", "--all"]
    ]  # fmt: skip
    assert any(line.split()[1:2] == ["c19"] for line in few)
    assert not any(line.split()[1:2] == ["c0"] for line in few)
    assert {"s0", "s4", "s8"} <= {line.split()[0] for line in everything}
    assert sum(line.split()[:1] == ["."] for line in everything) == 20
    assert not any("--all" in line for line in everything)
    assert [line.split()[0] for line in _plain(_stage_table(stage, "s1"))][2:4] == ["s1", "-"]
    without = StageStats("B", stage.into, dict(stage.into))
    assert [" ".join(line.split()[:4]) for line in _plain(_stage_table(without, None, everything=False))][3:] == [
        "9 sources, see --all"
    ]


def _plain(table) -> list[str]:
    """The lines of a table."""
    console = Console(file=io.StringIO(), width=100, no_color=True)
    console.print(table)
    return console.file.getvalue().rstrip().split("\n")


def test_inspect_tells_what_deduplication_looked_at(dataprep, rich):
    """Documents, candidates, comparisons and the largest component are said, and how much was cut."""
    code, said, _ = dataprep("inspect", rich)
    assert code == 0
    assert re.search(
        r"MinHash counted: documents 26, .*candidates \d+, pairs compared \d+, largest component \d+", said
    )
    assert re.search(r"bytes cut +460", said)


def test_a_report_does_not_stand_in_the_way_of_the_next_run(dataprep, tmp_path):
    """The page lies beside the Dataset that it is about, and another recipe may replace both."""
    (tmp_path / "in.jsonl").write_text('{"text": "one"}\n{"text": "one"}\n')
    docs, out = dp.read(str(tmp_path / "in.jsonl")), tmp_path / "out"
    dp.Pipeline(dp.Exact()).run(docs, out=str(out))
    assert dataprep("report", out)[0] == 0
    dp.Pipeline(dp.Exact(normalize="space")).run(docs, out=str(out), replace=True)
    assert not (out / "report.html").exists()


def test_mistakes_are_one_sentence(dataprep, rich, tmp_path):
    """A folder that no run wrote, and broken tables, are a sentence on stderr and exit code 1."""
    for command in ("clusters", "report", "inspect"):
        code, _, said = dataprep(command, tmp_path)
        assert (code, said.count("\n")) == (1, 1)
        assert "contains no sealed Dataset" in said
    for kind, options in (("cuts", ("--cuts", "1")), ("drops", ())):
        broken = shutil.copytree(rich, tmp_path / kind)
        table = next((broken / "clean" / kind).iterdir())
        table.write_bytes(table.read_bytes()[:-9])
        for words in (("clusters", broken, *options), ("report", broken), ("why", broken, "2:7")):
            code, _, said = dataprep(*words)
            assert (code, said.count("\n")) == (1, 1)
            assert f"{kind}/{table.name} as the table that was written" in said
            assert "Traceback" not in said


def test_cuts_of_one_stage_count_in_what_the_one_before_left(tmp_path, line_cutter):
    """Where two stages cut one text, and one has the name of a third, each is shown the text that it read."""
    lines = [f"a long line that stands in several of these pages, number {i}" for i in range(3)]
    rows = ["\n".join([f"start {n}", lines[0], "short", lines[n % 3], "short", f"end {n}"]) for n in range(4)]
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in [*rows, rows[0]]))
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "in.jsonl")), out=str(tmp_path / "run" / "ingest"))
    place = str(tmp_path / "run" / "clean")
    done = dp.Pipeline(dp.Exact(), line_cutter, dp.Exact(unit="line")).run(docs, out=place)
    cuts, texts = done.cuts().to_pylist(), {row["id"]: row["text"] for row in done.table().to_pylist()}
    whole, lines_, spans_ = (stage.name for stage in done.stats)
    assert {row["stage"] for row in cuts} == {lines_, spans_}
    for id_, text in texts.items():
        last = why.text_as_read(str(tmp_path / "run"), id_, place, spans_)
        spans = [(row["start"], row["end"]) for row in cuts if row["id"] == id_ and row["stage"] == spans_]
        assert bytes_outside(last, spans).decode() == text
        first = why.text_as_read(str(tmp_path / "run"), id_, place, whole)
        assert first == why.text_as_read(str(tmp_path / "run"), id_, place, "Lines")
        assert len(first) > len(last) or not [row for row in cuts if row["id"] == id_ and row["stage"] == "Lines"]


def test_what_a_stage_read_is_put_together_again(rich):
    """The text that a cutting stage read, less its spans, is the text that is kept."""
    place = str(rich / "clean")
    docs = dp.open_dataset(place)
    texts = {row["id"]: row["text"] for row in docs.table().to_pylist()}
    cuts = docs.cuts().to_pylist()
    for id_ in {row["id"] for row in cuts} & set(texts):
        data = why.text_as_read(str(rich), id_, place, "Lines")
        spans = [(row["start"], row["end"]) for row in cuts if row["id"] == id_]
        assert bytes_outside(data, spans).decode() == texts[id_]


NASTY = "\x1b]0;owned\x07\x1b[31m\x9b\r"


def rude(text):
    """Drops with a reason that a terminal would obey."""
    return f"rude{NASTY}" if "z" in text else None


def test_no_command_prints_control_characters(dataprep, tmp_path):
    """Texts, sources, reasons and folder names with ESC reach no terminal: inspect, why, search, clean, errors."""
    home = tmp_path / f"a{NASTY}[*?"
    home.mkdir()
    texts = "".join(f'{{"text": "{word} \\u001b[2J\\u0007 \\u009b text"}}\n' for word in ("one", "two", "zoo"))
    (home / f"in{NASTY}.jsonl").write_text(texts)
    docs = dp.read({f"src{NASTY}\nforged": str(home / f"in{NASTY}.jsonl")})
    done = dp.Pipeline(dp.Filter(rude)).run(docs, str(home / "out"))
    ids = [str(i) for i in (done.drops()["id"][0], done.table()["id"][0])]
    calls = [("inspect", done.url), *(("why", done.url, i) for i in ids), ("prune", done.url), ("inspect", home / "x"),
             ("why", home, "7"), ("forget", home / NASTY), ("run", home / f"{NASTY}.py"),
             ("prune", "--all", home)]  # fmt: skip
    for call in calls:
        said = "".join(dataprep(*call)[1:])
        assert said
        assert not set(said) & set("\x1b\x07\x9b\r"), call
        assert not any(line.startswith("forged") for line in said.splitlines()), call


def test_tables_of_80_columns_cut_nothing(monkeypatch):
    """Long names are continued in the next line; no column is left out, and no digit is lost."""
    monkeypatch.setenv("COLUMNS", "80")
    stage, name = StageStats("a_long_name_of_a_stage(paragraph, language=en) #2"), "crawl/" + "segment-00012/" * 5
    stage.into[name] = Amount(123_456_789, 987_654_321_098)
    stage.out[name] = Amount(23_456_789, 87_654_321_098)
    stage.dropped["a_reason_of_a_user_with_a_very_long_name"] = {name: Amount(100_000_000, 900_000_000_000)}
    for table, cells in (
        (_stage_table(stage, None), [name, "123,456,789", "987,654.32", "87,654.32"]),
        (Stats([stage]), [stage.name, "23,456,789", "-100,000,000", "87,654.32"]),
    ):
        console = Console(file=io.StringIO())
        console.print(table)
        lines = console.file.getvalue().splitlines()
        assert max(map(len, lines)) <= 80
        assert not any("\u2026" in line for line in lines)
        printed = "\n".join(lines)
        assert all(cell in printed for cell in cells[1:])
        assert cells[0].split(" ")[0] in "".join(line.split(" ")[0] for line in lines)
