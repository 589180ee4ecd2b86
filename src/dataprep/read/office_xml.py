"""The XML in DOCX and EPUB: handlers that collect the text of a document, and the chapters of a book."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

WORDS = ("http://schemas.openxmlformats.org/wordprocessingml/2006/main", "http://purl.oclc.org/ooxml/wordprocessingml/main")
FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"  # says once more what is in Choice
MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
MAX_PARTS = 100_000  # of a book


@dataclass
class _Row:
    """A row of a table: the texts of its cells, and the paragraphs of the cell that is open."""

    cells: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


class DocumentText:
    """The lines of a DOCX: its paragraphs, and rows of tables, with tabs between cells.

    The rows of a table inside a cell are paragraphs of this cell. A paragraph inside another paragraph, as in a text
    box, precedes it.

    Attributes:
        lines: the lines so far.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._rows: list[_Row] = []
        self._paragraphs: list[list[str]] = []
        self._skipped = 0  # open elements inside of a fallback or a list of tab stops, and it
        self._is_text = False

    def connect(self, parser: expat.XMLParserType) -> None:
        """Set the handlers of a parser whose names are "URI NAME"."""
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._data

    def _start(self, name: str, _: dict[str, str]) -> None:
        kind = _kind(name)
        if self._skipped or name == FALLBACK or kind == "tabs":
            self._skipped += 1
            return
        if kind == "p":
            self._paragraphs.append([])
        elif kind == "tr":
            self._rows.append(_Row())
        elif kind in MARKS and self._paragraphs:
            self._paragraphs[-1].append(MARKS[kind])
        self._is_text = kind == "t"

    def _data(self, text: str) -> None:
        if self._is_text and self._paragraphs and not self._skipped:
            self._paragraphs[-1].append(text)

    def _end(self, name: str) -> None:
        self._is_text = False
        if self._skipped:
            self._skipped -= 1
            return
        kind = _kind(name)
        if kind == "p":
            self._add("".join(self._paragraphs.pop()))
        elif kind == "tc" and self._rows:
            row = self._rows[-1]
            row.cells.append(" ".join(row.paragraphs))
            row.paragraphs = []
        elif kind == "tr":
            self._add("\t".join(self._rows.pop().cells))

    def _add(self, line: str) -> None:
        (self._rows[-1].paragraphs if self._rows else self.lines).append(line)


def _kind(name: str) -> str:
    """Return the name of an element of WordprocessingML; "" for others."""
    space, _, kind = name.rpartition(" ")
    return kind if space in WORDS else ""


class Package:
    """The files that an EPUB or DOCX names: its packages or documents; for a package also title, items and order.

    Attributes:
        files: the paths of packages or documents.
        title: the title of the book, "" if none is stated.
        items: {id: path} of the files of the book.
        spine: the ids of its chapters, in order.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.title = ""
        self.items: dict[str, str] = {}
        self.spine: list[str] = []
        self._titles = 0
        self._is_title = False

    def connect(self, parser: expat.XMLParserType) -> None:
        """Set the handlers of a parser whose names are "URI NAME"."""
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._data

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        self._is_title = False
        if kind == "rootfile":
            self.files.append(attributes.get("full-path", ""))
        elif kind == "Relationship" and attributes.get("Type", "").endswith("/officeDocument"):
            self.files.append(attributes.get("Target", "").lstrip("/"))
        elif kind == "item":
            self.items[attributes.get("id", "")] = attributes.get("href", "")
        elif kind == "itemref" and len(self.spine) < MAX_PARTS:
            self.spine.append(attributes.get("idref", ""))
        elif kind == "title":
            self._titles += 1
            self._is_title = self._titles == 1

    def _data(self, text: str) -> None:
        if self._is_title:
            self.title += text

    def _end(self, _: str) -> None:
        self._is_title = False
