"""The JSONL reader: equal to a plain parser on every line, whatever the cuts; bad lines and bad files."""

from __future__ import annotations

import gzip
import json
import lzma
import math

import numpy as np
import orjson
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
from dataprep.core.model import batch as B
from dataprep.core.model.ledger import Ledger
from dataprep.core.model.reader import Slice
from dataprep.errors import PlanError, ReadError
from dataprep.read import parts as plan
from dataprep.read import text as plain_text
from dataprep.read import trust
from dataprep.read.json.reader import Jsonl
from twins.json_lines import jsonl

TRUSTING = {"max_bad": 1.0}


def read_bytes(folder, data: bytes, name="in.jsonl", start=0, stop=None, **fields):
    """Rows (position, text, meta) and drops (position, reason) of a file with these bytes."""
    path = folder / name
    path.write_bytes(data)
    ledger = Ledger("read", source="s")
    batches = list(Jsonl(**fields)(Slice(str(path), 0, start, stop), ledger))
    rows = [(r["id"], r["text"], r["meta"]) for b in batches for r in b.to_pylist()]
    return rows, [(r["id"], r["reason"]) for r in ledger.drop_table().to_pylist()]


@pytest.fixture
def lenient(monkeypatch):
    """Files of bad lines are read to their end, so that what becomes of each line can be seen."""
    monkeypatch.setattr(trust.Trust, "close", lambda _: None)


def check(folder, data: bytes, **fields):
    """The reader and its plain twin say the same of these bytes."""
    rows, drops = read_bytes(folder, data, **fields)
    want_rows, want_drops = jsonl(data, fields.get("text", "text"), fields.get("max_doc_bytes", 1 << 26))
    assert [(p, t) for p, t, _ in rows] == [(p, t) for p, t, _ in want_rows]
    assert drops == want_drops
    for (_, _, meta), (_, _, rest) in zip(rows, want_rows, strict=True):
        assert same(json.loads(meta), rest)


def same(a, b) -> bool:
    """Equal as JSON values: the types too (1 is not 1.0 or true)."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b)))


EDGES = [
    b'{"text": "plain"}',
    b'  {"text" : "spaces" , "a" : [ ] }  ',
    b'{"text":"\\n\\t\\r\\b\\f\\"\\\\\\/ \\u00e9 \\uD83D\\uDE00 \\u0000"}',
    b'{"text":"", "n": 123456789012345678901234567890, "f": 0.1000000000000000055, "e": 1e999, "z": -0}',
    b'{"\\u0074ext": "an escaped key"}',
    b'{"text": "first", "text": "last"}',
    b'{"text": "a string, then not", "text": 1}',
    b'{"text": null, "text": "not, then a string"}',
    b'{"a": 1, "a": 2, "text": "the same key twice"}',
    b'{"text": "x", "\xc3\xa9\xe6\xbc\xa2": {"\xf0\x9f\x98\x80": [1, [2, {"k": null}], true, false]}}',
    b'{"text": "\\ud800"}',
    b'{"text": "\\ud800\\u0041"}',
    b'{"text": "\\udc00\\ud800"}',
    b'{"text": "x", "lone": "\\ud800", "\\udfff": 1}',
    b'{"text": "\xff"}',
    b'{"text": "\xc0\x80"}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\xf4\x90\x80\x80"}',
    b'{"text": "cut \xe6\xbc"}',
    b'{"text": "x", "m": "\xff"}',
    b"\xff\xfe",
    b"[1, 2]", b'"text"', b"1", b"null", b"true", b"-0.5e+3",
    b"{}", b'{"text": 1}', b'{"text": null}', b'{"text": ["a"]}', b'{"text": {"text": "a"}}', b'{"Text": "a"}',
    b"{", b"}", b"[", b"[1,]", b'{"a":1,}', b'{,"a":1}', b'{"a" 1}', b'{"a":}', b"{a:1}", b"{'a':1}", b'{"a":1}}',
    b'{"text": "x"} {"text": "y"}', b'{"text": "x"},', b'{"text": "x", "a": [1 2]}', b'{"text": "x", "a": [1}',
    b'{"text": "x", "a": {"b":1]}', b'{"text": "x", "a": nul}', b'{"text": "x", "a": truex}', b'{"text": "x", "a": NaN}',  # noqa: E501
    b'{"text": "x", "a": 01}', b'{"text": "x", "a": 1.}', b'{"text": "x", "a": .5}', b'{"text": "x", "a": +1}',
    b'{"text": "x", "a": 1e}', b'{"text": "x", "a": -}', b'{"text": "x", "a": 0x1}', b'{"text": "x", "a": Infinity}',
    b'{"text": "tab\there"}', b'{"text": "nul\x00here"}', b'{"text": "del\x7fhere"}', b'{"text": "\\x41"}',
    b'{"text": "\\u12"}', b'{"text": "\\u12g4"}', b'{"text": "\\U0041"}', b'{"text": "open', b'{"text": "open\\', b'{"text',  # noqa: E501
    b'{"text": "x"\x00}', b"\x00", b'{"text": "x", "a": "\\"}', b'{"text": "# \'not a quote\' ! \\"# \\\\]"}',
    b'\xef\xbb\xbf{"text": "a mark inside the file"}', b"//x", b'{"text": "x" /* c */}',
    b"", b"   ", b"\t\r", b'{"text": "crlf"}\r',
]  # fmt: skip


@pytest.mark.parametrize("end", [b"\n", b""], ids=["newline", "cut off"])
def test_edges(tmp_path, lenient, end) -> None:
    """Each hard line is kept or dropped, with the reason the plain parser gives."""
    check(tmp_path, b"\n".join(EDGES) + end)
    for line in EDGES:
        check(tmp_path, line + end)


SPECIAL = [
    b'\\"', b"\\n", b"\\\\", b"\\u00e9", b"\\ud83d\\ude00", b"\\ud83d", b"\\x", b"\\u12", b"\x01", b"\t", b'"', b"\xff",
    "é".encode(), b"\\n\\n\\t", b'\\\\\\"',
]  # fmt: skip


@pytest.mark.parametrize("special", SPECIAL)
def test_each_place_of_an_escape(tmp_path, lenient, special) -> None:
    """In texts, other values and keys, at each place of 64 bytes, in lines that touch each other."""
    strings = [b"x" * k + special + b"y" * (k % 67) + special * (k % 3) for k in range(140)]
    good = b'{"text": "a file that is not read if all of its first lines are bad"}\n'
    check(tmp_path, good + b"".join(b'{"text":"%b"}\n' % one for one in strings))
    check(tmp_path, good + b"".join(b'{"a":"%b","text":"%b","b":[]}\r\n' % (one, one) for one in strings))
    check(tmp_path, good + b"".join(b'{"%b":1,"text":""}\n' % one for one in strings)[:-1])


@pytest.mark.parametrize("character", ["é", "अ", "😀"])
def test_damage_at_each_place(tmp_path, lenient, character) -> None:
    """One byte of many is not UTF-8: its line is dropped, and no other."""
    line = b'{"text": "%b"}\n' % (character.encode() * 60)
    lines = [bytearray(line) for _ in range(len(line))]
    for at, one in enumerate(lines):
        one[at] = 0xFF
    data = b"".join(line + bytes(one) for one in lines)
    check(tmp_path, data)
    _, drops = read_bytes(tmp_path, data)
    assert {reason for _, reason in drops} == {"invalid_utf8"}


@pytest.mark.parametrize("n", [1, 63, 64, 65, 4_000])
def test_a_last_line_at_the_end_of_a_block(tmp_path, monkeypatch, lenient, n) -> None:
    """Lines that fill the block to its last byte, and lines cut by it, with and without a line feed."""
    line = b'{"text": "%b"}\n' % (b"a" * n)
    for block in (len(line) - 1, len(line), len(line) + 1, 2 * len(line)):
        monkeypatch.setattr(plain_text, "BLOCK", block)
        check(tmp_path, line * 5)
        check(tmp_path, (line * 5)[:-1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
RECORDS = st.dictionaries(
    st.sampled_from(["text", "id", "t", "texts", "é", "a\nb"]) | st.text(max_size=9), JSON, max_size=5
)


@st.composite
def json_lines(draw) -> bytes:
    """A line: a record written in one of many ways, sometimes with a byte changed, taken out or put in."""
    record = draw(RECORDS | JSON)
    if isinstance(record, dict) and draw(st.integers(0, 3)):
        record["text"] = draw(st.text())
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r ")]))
    line = json.dumps(record, ensure_ascii=draw(st.booleans()), separators=separators)
    data = line.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 2)) == 0 and data:
        at = draw(st.integers(0, len(data) - 1))
        data = (
            data[:at]
            + draw(st.sampled_from([b"", b'"', b"\\", b"{", b",", b"\xff", b"\x00", b"\n", b"1"]))
            + data[at + 1 :]
        )
    return data


@settings(max_examples=300)
@given(st.lists(json_lines() | st.sampled_from(EDGES), max_size=8), st.booleans())
def test_equals_the_plain_parser(tmp_path_factory, written, newline) -> None:
    """On made and broken lines the scanner keeps, drops and says what `json` does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust.Trust, "close", lambda _: None)
        check(tmp_path_factory.mktemp("j"), b"\n".join(written) + b"\n" * newline)


@settings(max_examples=100)
@given(st.binary(max_size=60))
def test_any_bytes(tmp_path_factory, data) -> None:
    """Bytes of no meaning are judged as the plain parser judges them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust.Trust, "close", lambda _: None)
        check(tmp_path_factory.mktemp("j"), data)
        check(tmp_path_factory.mktemp("j"), b'{"text": "' + data + b'"}')


def test_depth(tmp_path, lenient) -> None:
    """1,024 levels are read, as by orjson; one more is not JSON to us."""
    for levels, kept in ((1_023, 1), (1_024, 0)):
        line = b'{"text": "x", "a": ' + b"[" * levels + b"]" * levels + b"}"
        rows, drops = read_bytes(tmp_path, line)
        assert (len(rows), drops) == (kept, [] if kept else [(0, "not_json")])
        if kept:
            orjson.loads(rows[0][2])


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_block_cuts_do_not_matter(tmp_path, lenient, monkeypatch, block) -> None:
    """However little of the file is read at once, the records are the same."""
    data = b"\xef\xbb\xbf" + b"\n".join(EDGES)
    whole = read_bytes(tmp_path, data, max_doc_bytes=40)
    monkeypatch.setattr(plain_text, "BLOCK", block)
    assert read_bytes(tmp_path, data, max_doc_bytes=40) == whole


def test_any_cut_gives_the_same_records(tmp_path, lenient) -> None:
    """A record belongs to the byte range its line begins in: two pieces give what the whole gives."""
    data = b'\xef\xbb\xbf{"text": "a"}\r\n\n{"text": "b\\n"}\n[]\n{"text": "\xc3\xa9"}\n\xff\n{"text": "last"}'
    rows, drops = read_bytes(tmp_path, data)
    assert len(rows) == 4
    for cut in range(1, len(data)):
        first, second = read_bytes(tmp_path, data, stop=cut), read_bytes(tmp_path, data, start=cut)
        assert (first[0] + second[0], first[1] + second[1]) == (rows, drops), cut


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz"])
@pytest.mark.parametrize("cut", [0, 300])
def test_picked_documents_are_those_that_are_read(tmp_path, lenient, monkeypatch, name, cut) -> None:
    """Any selection of positions gives the documents that reading as a whole gives there, in any block size."""
    data = b'\xef\xbb\xbf{"text": "marked", "s": "z"}\n' + b"\n".join([*EDGES, b'{"text": "more", "s": "y"}'] * 2)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    piece, reader = Slice(str(path), 3, start=cut, source="plain"), Jsonl(source="field:s", columns=(("a", "string"),))
    rows = [row for batch in reader(piece, Ledger("read", source="s")) for row in batch.to_pylist()]
    monkeypatch.setattr(plain_text, "BLOCK", 64)
    for step in (1, 3, len(rows)):
        wanted = rows[::-step][::-1]
        positions = np.array([B.split_id(row["id"])[1] for row in wanted], np.uint64)
        assert [row for batch in reader.pick(piece, positions) for row in batch.to_pylist()] == wanted
        narrow = [row for batch in reader.narrowed(["text"]).pick(piece, positions) for row in batch.to_pylist()]
        assert [(row["id"], row["text"], row["source"]) for row in narrow] == [
            (row["id"], row["text"], row["source"]) for row in wanted
        ]


def test_a_file_that_changed_is_not_picked_from(tmp_path) -> None:
    """Where no document begins any more, or one begins inside another, the file is named instead of other text."""
    path = tmp_path / "in.jsonl"
    for data in (b'{"text": "a"}\n[{"text": "b"}]\n', b'{"text": "a longer text"}\n', b'{"text": {"text": "a"}}\n'):
        path.write_bytes(data)
        with pytest.raises(ReadError, match="changed while it was read"):
            list(Jsonl().pick(Slice(str(path), 0), np.array([0, 14], np.uint64)))


def test_many_parts(tmp_path, monkeypatch) -> None:
    """A plain file over the part size becomes several parts with the same documents; a compressed one stays whole."""
    data = b"".join(b'{"text": "%d", "n": %d}\n' % (i, i) for i in range(1_000))
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(data))
    monkeypatch.setattr(plan, "PART_BYTES", (len(data) + 4) // 5)
    docs = dp.read(str(tmp_path / "*"))
    assert [p.slices[0].file for p in docs.parts] == [0] * 5 + [1]
    table = docs.table()
    assert table["text"].to_pylist() == [str(i) for i in range(1_000)] * 2
    ids = table["id"].to_pylist()
    assert ids == sorted(ids)
    assert ids[1_000:] == [B.doc_id(1, B.split_id(i)[1]) for i in ids[:1_000]]


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress), (".xz", lzma.compress)]
)
def test_compressed(tmp_path, suffix, pack) -> None:
    """gzip, zstd and xz, two members each, give the plain file's positions; cut short they are a ReadError."""
    half = b'{"text": "one"}\n{"text": "two"}\n'
    stored = pack(half) + pack(half)
    rows, _ = read_bytes(tmp_path, stored, "a.jsonl" + suffix)
    assert [r[0] for r in rows] == [0, 16, 32, 48]
    with pytest.raises(ReadError, match=rf"cut\.jsonl\{suffix}, byte \d+: .*(ends|damaged)"):
        read_bytes(tmp_path, stored[:-5], "cut.jsonl" + suffix)


def test_meta_and_columns(tmp_path) -> None:
    """Columns leave meta, have the types of the first records, and are null where a record has another type."""
    records = [
        {"text": "a", "url": "u", "n": 1, "score": 1, "ok": True, "any": {"k": [1]}, "id": "x"},
        {"text": "b", "url": 7, "n": 2.0, "score": 0.5, "ok": "no", "any": "s", "id": 2**70},
        {"text": "c", "url": None, "n": 2**63, "score": "high", "any": None, "rest": "\u00e9"},
    ]
    (tmp_path / "a.jsonl").write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in records if r["text"] == "a"))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records[1:]), encoding="utf-8")
    docs = dp.read(str(tmp_path / "*.jsonl"), columns=["url", "n", "score", "ok", "any"])
    table = docs.table()
    assert table["url"].to_pylist() == ["u", "7", None]
    assert table["n"].to_pylist() == [1, 2, None]
    assert table["score"].to_pylist() == [1, None, None]  # the first record says int64, and 0.5 is none
    assert table["ok"].to_pylist() == [True, None, None]
    assert table["any"].to_pylist() == ['{"k":[1]}', "s", None]
    assert [json.loads(m) for m in table["meta"].to_pylist()] == [{"id": "x"}, {"id": 2**70}, {"rest": "\u00e9"}]
    typed = dp.read(str(tmp_path / "*.jsonl"), columns={"score": "double"}).table()
    assert typed["score"].to_pylist() == [1.0, 0.5, None]
    assert typed.schema.field("score").type == pa.float64()


def test_without_meta(tmp_path) -> None:
    """meta=False reads the text alone."""
    (tmp_path / "a.jsonl").write_bytes(b'{"id": 1, "text": "a"}\n')
    assert dp.read(str(tmp_path / "a.jsonl"), meta=False).take(1)[0]["meta"] == "{}"


def test_text_field_by_name(tmp_path) -> None:
    """text= names the field; a field called text is then an ordinary one."""
    (tmp_path / "a.jsonl").write_bytes('{"text": 1, "corps": "é"}\n'.encode())
    row = dp.read(str(tmp_path / "a.jsonl"), text="corps").take(1)[0]
    assert (row["text"], row["meta"]) == ("é", '{"text": 1}')


@pytest.mark.parametrize("columns", [["id"], ["source"], {"n": "complex"}])
def test_impossible_columns(tmp_path, columns) -> None:
    """A column that every batch has, or of an unknown type, is refused before any work."""
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n')
    with pytest.raises(PlanError, match="column"):
        dp.read(str(tmp_path / "a.jsonl"), columns=columns)


def test_bad_lines_are_bad_documents(tmp_path) -> None:
    """Bad lines go to the drop table with reason and position; the rest of the file is read."""
    good = b'{"text": "fine"}\n'
    bad = b'\xff\n{"text": 1}\n[]\n{"text": "x"\n'
    rows, drops = read_bytes(tmp_path, good * 3 + bad + good)
    assert len(rows) == 4
    assert drops == [(51, "invalid_utf8"), (53, "no_text"), (65, "not_an_object"), (68, "not_json")]


def test_books_of_a_sealed_read(tmp_path) -> None:
    """What the reader dropped is in the books of the run, in documents and bytes."""
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "fine"}\n' * 200 + b'{"text": 1}\n')
    clean = dp.Pipeline().run(dp.read(str(tmp_path / "a.jsonl")), out=str(tmp_path / "out"))
    book = clean.stats["read"]
    assert (book.docs_in, book.docs_out, book.reasons) == (201, 200, {"no_text": 1})


def test_a_line_of_300_mb(tmp_path) -> None:
    """A line beyond max_doc_bytes is dropped with its position, without being held in memory."""
    import tracemalloc

    huge = 300 << 20
    path = tmp_path / "a.jsonl.zst"
    with path.open("wb") as f, zstandard.ZstdCompressor(1).stream_writer(f) as out:
        out.write(b'{"text": "before"}\n{"text": "')
        for _ in range(huge >> 20):
            out.write(b"a" * (1 << 20))
        out.write(b'"}\n{"text": "after"}\n')
    ledger = Ledger("read", source="s")
    tracemalloc.start()
    texts = [t for b in Jsonl(max_doc_bytes=16 << 20)(Slice(str(path), 0), ledger) for t in b["text"].to_pylist()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert texts == ["before", "after"]
    assert [(r["id"], r["reason"]) for r in ledger.drop_table().to_pylist()] == [(19, "too_long")]
    assert ledger.record.dropped["too_long"]["s"].bytes == huge + len(b'{"text": ""}')
    assert peak < 100 << 20


def test_a_long_line_that_is_allowed(tmp_path) -> None:
    """A line of many blocks comes out whole."""
    text = "é" * (9 << 20)
    rows, drops = read_bytes(tmp_path, json.dumps({"a": 1, "text": text}, ensure_ascii=False).encode())
    assert (rows[0][1] == text, rows[0][2], drops) == (True, '{"a": 1}', [])


def lines_of(good: int, bad: int) -> bytes:
    """So many good lines, then so many bad ones."""
    return b'{"text": "x"}\n' * good + b"oops\n" * bad


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"oops\n" * 100 + b'{"text": "x"}\n' * 100_000, "byte 0: the first 100 records are all bad"),
        (lines_of(989, 11), r"byte 13,846: 11 of 1,000 records are bad.*not_json b'oops'"),
        (lines_of(3, 10), "byte 42: 10 of 13 records are bad"),
        (lines_of(0, 3), "all 3 records are bad"),
        (b'{"body": "x", "url": "u"}\n', "only record is bad.*fields body, url.*text="),
        (b"\n \n", "contains no records"),
    ],
    ids=["first hundred", "over one in a hundred", "mostly bad", "all bad", "another text field", "nothing"],
)
def test_files_that_are_not_believed(tmp_path, data, says) -> None:
    """A file of mostly bad lines is one sentence with the file and the first bad position."""
    with pytest.raises(ReadError, match=says) as caught:
        read_bytes(tmp_path, data)
    assert caught.value.path == str(tmp_path / "in.jsonl")


@pytest.mark.parametrize("data", [lines_of(1_000, 10), lines_of(3, 9), lines_of(99_000, 990)])
def test_files_with_a_few_bad_lines_are_believed(tmp_path, data) -> None:
    """One in a hundred, or fewer than ten, are only dropped."""
    rows, drops = read_bytes(tmp_path, data)
    assert len(rows) + len(drops) == data.count(b"\n")
    assert drops


def test_real_files(shared) -> None:
    """Real multilingual text with its metadata comes out as `orjson` reads it."""
    path = shared / "text" / "multilingual" / "tldr_pages_40lang.jsonl.gz"
    table = dp.read(str(path)).table()
    with gzip.open(path) as f:
        records = [orjson.loads(line) for line in f]
    assert table["text"].to_pylist() == [r.pop("text") for r in records]
    assert [orjson.loads(m) for m in table["meta"].to_pylist()] == records


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ('{"text": "x"}\n'.encode("utf-16"), "is UTF-16; convert it"),
        (b"[\n" + b' {"text": "x"},\n' * 20 + b"]\n", "one JSON array; read it with format="),
        (b'{\n "text": "x"\n}\n', "objects have several lines"),
        (b'{"text": "x"}\r{"text": "y"}\r', "carriage return alone"),
        (b"oops\n", "name the text field with text="),
    ],
    ids=["utf-16", "array", "indented", "carriage returns", "other"],
)
def test_the_advice_fits_the_file(tmp_path, data, says) -> None:
    """The error says how the file is written and what to do about it."""
    with pytest.raises(ReadError, match=says):
        read_bytes(tmp_path, data)
