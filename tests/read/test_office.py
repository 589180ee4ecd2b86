"""DOCX, EPUB and PDF."""

from __future__ import annotations

import json

import pytest

import dataprep as dp
from dataprep.errors import ReadError
from office import BODY, CONTAINER, OPF, packed, pdf


def rows(url, **options):
    """(id, text, meta) of the documents."""
    return [(row["id"], row["text"], json.loads(row["meta"])) for row in dp.read(str(url), **options)]


def test_docx(tmp_path) -> None:
    """Paragraphs, tabs and tables; a file that is none, or has entities, is one sentence."""
    url = packed(tmp_path / "a.docx", files={"word/document.xml": BODY})
    assert rows(url) == [(0, "One line é\nIn\tside\na\tb", {"path": "a.docx"})]
    for bad in (
        {"word/document.xml": BODY[:-9]},
        {"other.xml": BODY},
        {"word/document.xml": f'<!DOCTYPE a [<!ENTITY b "c">]>{BODY}'},
    ):
        with pytest.raises(ReadError, match="document.xml' in it is"):
            rows(packed(tmp_path / "b.docx", files=bad))
    (tmp_path / "b.docx").write_bytes((tmp_path / "a.docx").read_bytes()[:90])
    with pytest.raises(ReadError, match="truncated or damaged"):
        rows(tmp_path / "b.docx")


W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def p(text, before=""):
    """A paragraph."""
    return f"<w:p>{before}<w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows):
    """A table of cells, whose content is XML."""
    lines = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (table([p("a") + p("b"), table([p("c"), p("d")], [p("e"), ""])], [p("f")]), "a b\tc\td e\t\nf"),
        (p("One", "<w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr><w:r><w:tab/></w:r>"), "\tOne"),
        (p("under", f"<w:r><mc:AlternateContent><mc:Choice>{p('box')}</mc:Choice><mc:Fallback>{p('box')}</mc:Fallback>"
           "</mc:AlternateContent></w:r>"), "box\nunder"),
        (p("ليلى 北京") + "<w:p/>" + p("<![CDATA[a < b]]>"), "ليلى 北京\n\na < b"),
    ],
    ids=["a table in a table", "tab stops", "a text box", "scripts"],
)  # fmt: skip
@pytest.mark.parametrize("space", [W, STRICT], ids=["transitional", "strict"])
def test_each_text_of_a_docx_is_there_once(tmp_path, body, text, space) -> None:
    """Also in both forms of the standard, and if the document has another name."""
    spaces = f'xmlns:w="{space}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    xml = f"<w:document {spaces}><w:body>{body}</w:body></w:document>"
    assert rows(packed(tmp_path / "a.docx", files={"word/document.xml": xml}))[0][1] == text
    rels = '<Relationships xmlns="x"><Relationship Type="a/officeDocument" Target="/word/two.xml"/></Relationships>'
    named = {"_rels/.rels": rels, "word/two.xml": xml.encode("utf-16")}
    assert rows(packed(tmp_path / "b.docx", files=named))[0][1] == text


def test_hostile_docx(tmp_path) -> None:
    """Depth, entities in UTF-16, and encrypted files are one sentence each."""
    deep = BODY.replace("<w:body>", "<w:body>" + "<w:sdt>" * 100_000)
    with pytest.raises(ReadError, match="nested more than 1,000 deep"):
        rows(packed(tmp_path / "a.docx", files={"word/document.xml": deep}))
    bomb = f'<!DOCTYPE a [<!ENTITY b "c">]>{BODY}'.encode("utf-16")
    with pytest.raises(ReadError, match="defines entities"):
        rows(packed(tmp_path / "b.docx", files={"word/document.xml": bomb}))
    (tmp_path / "c.docx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))
    with pytest.raises(ReadError, match="it has a password, or is a .doc file"):
        rows(tmp_path / "c.docx")


def test_a_bomb_is_dropped(tmp_path) -> None:
    """A document that expands to far more than max_doc_bytes."""
    packed(tmp_path / "a.docx", files={"word/document.xml": BODY + " " * (64 << 20)})
    packed(tmp_path / "b.docx", files={"word/document.xml": BODY})
    done = dp.Pipeline().run(dp.read(str(tmp_path / "*.docx"), max_doc_bytes=1 << 20), out=str(tmp_path / "out"))
    assert (done.count, done.stats[0].reasons) == (1, {"too_long": 1})


def test_epub(tmp_path) -> None:
    """Chapters in the order of the book, with their number and the titles; a missing one is one sentence."""
    pytest.importorskip("resiliparse")
    page = "<html><head><title>{}</title></head><body><p>Chapter {}.</p></body></html>"
    files = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": OPF, "OEBPS/one a.xhtml": page.format("A", "one"),
             "OEBPS/two.xhtml": page.format("B", "two")}  # fmt: skip
    found = rows(packed(tmp_path / "a.epub", files=files))
    assert [(at, text, meta["section"], meta["title"]) for at, text, meta in found] == [
        (0, "Chapter two.", 1, "B"), (1, "Chapter one.", 2, "A"),
    ]  # fmt: skip
    assert found[0][2]["book"].strip() == "Book"
    files.pop("OEBPS/two.xhtml")
    with pytest.raises(ReadError, match="two.xhtml' in it is missing"):
        rows(packed(tmp_path / "b.epub", files=files))


def test_a_book_that_names_a_chapter_many_times(tmp_path, monkeypatch) -> None:
    """Chapters that expand to far more than the file has are one sentence, as those of an archive are."""
    pytest.importorskip("resiliparse")
    monkeypatch.setattr("dataprep.read.archive_members.MOST_BYTES", 1 << 20)
    spine = OPF.replace('<itemref idref="a"/>', '<itemref idref="a"/>' * 20)
    files = {"META-INF/container.xml": CONTAINER, "OEBPS/two.xhtml": "<p>two</p>"}
    url = packed(tmp_path / "a.epub", files=files | {"OEBPS/book.opf": spine, "OEBPS/one a.xhtml": " " * (1 << 20)})
    with pytest.raises(ReadError, match="it expands to over 250 times its size, as zip bombs do"):
        rows(url)
    url = packed(tmp_path / "b.epub", files=files | {"OEBPS/book.opf": OPF, "OEBPS/one a.xhtml": "<p>one</p>"})
    assert [text for _, text, _ in rows(url)] == ["two", "one"]


def test_pdf(tmp_path) -> None:
    """Pages with their numbers; one without text is dropped; scans and cut files are one sentence, and listed."""
    pytest.importorskip("pypdfium2")
    (tmp_path / "a.pdf").write_bytes(pdf("First page", "", "Third page"))
    done = dp.Pipeline().run(dp.read(str(tmp_path / "a.pdf")), out=str(tmp_path / "out"))
    assert [(row["id"], row["text"], json.loads(row["meta"])) for row in done] == [
        (0, "First page", {"path": "a.pdf", "page": 1, "pages": 3}),
        (2, "Third page", {"path": "a.pdf", "page": 3, "pages": 3}),
    ]
    assert done.stats[0].reasons == {"no_text": 1}
    (tmp_path / "scan.pdf").write_bytes(pdf("", ""))
    with pytest.raises(ReadError, match=r"none of its 2 pages has text, as in scans; .*ocrmypdf"):
        rows(tmp_path / "scan.pdf")
    docs = dp.Pipeline().run(dp.read(str(tmp_path / "*.pdf"), on_bad_file="skip"), out=str(tmp_path / "two"))
    assert docs.unread()["reason"].to_pylist() == ["unreadable"]
    (tmp_path / "cut.pdf").write_bytes(b"%PDF-1.4\n%cut")
    with pytest.raises(ReadError, match="it is not a complete PDF"):
        rows(tmp_path / "cut.pdf")
