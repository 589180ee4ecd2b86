"""Reader of KakaoTalk's text exports, of phones, desktops and Macs, in Korean and English.

    2024년 1월 15일 오후 2:05, Ilse : tea?             Android; an iPhone writes `2024. 1. 15. 오후 2:05, Ilse : tea?`
    --------------- 2024년 1월 15일 월요일 ---------------
    [Ilse] [오후 2:05] tea?                            Windows; in English `[Ilse] [2:05 PM] tea?`
    2024-01-15 14:05:00,"Ilse","tea?"                  a Mac's CSV

KakaoTalk does not document these forms; they are taken from several programs that read them. The placeholder of a file
is not distinguished from the same word typed by a person. Notices in Windows exports have no time: known notices get
the time of the message before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dataprep.core.model.reader import Slice
from dataprep.store import files

from .headed import BETWEEN, FirstLine, Headed, MessageContent, since_1970
from .plain import month_of

DAY = (
    r"(?:(?P<y>\d{4})(?:년|\.) ?(?P<m>\d{1,2})(?:월|\.) ?(?P<d>\d{1,2})(?:일|\.)"
    r"|(?:[A-Z][a-z]{2,8}, )?(?P<b>[A-Z][a-z]{2,8})\.? (?P<d2>\d{1,2}), (?P<y2>\d{4}))"
)
CLOCK = r"(?:(?P<half>오전|오후) )?(?P<H>\d{1,2}):(?P<M>\d\d)(?: ?(?P<half2>[AP]M))?"
NEW_DAY = re.compile(rf"(?:-{{3,}} ?)?{DAY}(?: [월화수목금토일]요일| {CLOCK})?(?: ?-{{3,}})?\s*\Z")
SAID = r"(?:, (?P<who>[^\n]{1,100}?) : (?P<text>.*)|: (?P<notice>.+))\Z"
MOBILE = re.compile(rf"{DAY},? (?:at )?{CLOCK}{SAID}", re.DOTALL)
TIMED = re.compile(CLOCK + SAID, re.DOTALL)  # behind a line with the date
DESKTOP = re.compile(rf"\[(?P<who>[^\n]{{1,100}}?)\] \[{CLOCK}\] ?(?P<text>.*)\Z", re.DOTALL)
CSV = re.compile(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d) (?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d),"
    r'(?P<who>"(?:[^"\n]|"")*"|[^",\n]*),(?P<text>.*)\Z',
    re.DOTALL,
)
HEADER = "Date,User,Message"
TITLES = re.compile(r"(.+?)(?: \d+)? ?(?:님과의? )?카카오톡 대화\s*\Z|KakaoTalk Chats with (.+?)\s*\Z")
SAVED = re.compile(r"저장한 날짜 ?:|Date Saved ?:", re.IGNORECASE)
NOTICE = re.compile(
    r".{1,60}님이 (?:들어왔습니다|나갔습니다|.{1,300}님을 (?:초대|내보냈?)(?:했)?습니다)\.?\s*\Z"
    r"|.{1,60} (?:joined|left) this chatroom\.\s*\Z|.{1,60} invited .{1,300}\.\s*\Z"
)
KINDS = {
    "image": "사진|Photo|Photos", "video": "동영상|Video", "sticker": "이모티콘|Emoticons|Sticker|스티커",
    "audio": "음성메시지|Voice Note", "deleted": "삭제된 메시지입니다.|This message was deleted.",
    "call": "보이스톡|페이스톡|Voice Call|Video Call",
}  # fmt: skip
KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split("|")}
SEVERAL = re.compile(r"(?:사진|Photo[s]?) \d+(?:장)?\Z")
FILE = re.compile(r"(?:파일|File) ?: (.+)\Z")
HEAD_LINES = 12  # lines of a file in which its title and a message are sought


class _Day(NamedTuple):
    year: int
    month: int
    day: int


@dataclass(frozen=True, kw_only=True)
class KakaoTalk(Headed):
    """Reads KakaoTalk's text exports from phones, Windows and Macs."""

    def expected(self) -> str:
        """Return the forms of a message in words, for the error about a file without messages."""
        return (
            "KakaoTalk's: 2024년 1월 15일 오후 2:05, Ilse : tea?; or a line with a date, then [Ilse] [오후 2:05] tea?; "
            "or CSV with Date,User,Message"
        )

    def chat(self, piece: Slice) -> str:
        """Return the chat's name, which is in the first line of the file; without such a line, the name of the file."""
        first = next((line.data.decode("utf-8", "replace") for line in self._lines(piece) if line.data), "")
        title = TITLES.match(first)
        return (title[1] or title[2]) if title else super().chat(piece).removesuffix(".csv")

    def row(self, head: FirstLine, text: str) -> MessageContent:
        """Return author, text, kind and meta of a message.

        Args:
            head: the parsed first line of the message.
            text: the whole text of the message.
        """
        author = head.author and _unquoted(head.author) if head.kind == "csv" else head.author
        text = _unquoted(text) if head.kind == "csv" else text
        if author is None:
            return MessageContent(None, text, "system", {})
        named = FILE.match(text)
        kind = KIND_OF.get(text) or ("image" if SEVERAL.match(text) else "file" if named else "text")
        return MessageContent(author, text, kind, {"file": named[1]} if named else {})

    def begin(self) -> Callable[[str], FirstLine | None]:
        """Return a function that parses a first line, given the last date line, the last time and the form so far."""
        day: _Day | None = None
        last: int | None = None
        is_inside = False
        forms: tuple[re.Pattern[str], ...] = (DESKTOP, MOBILE, TIMED, CSV)

        def parse(text: str) -> FirstLine | None:
            nonlocal day, last, is_inside, forms
            if new := NEW_DAY.match(text):
                day, is_inside = _day(new), False
                last = since_1970(*day)
                return BETWEEN
            found, form = _first_line(text, day, last, forms)
            forms = (form,) if form else forms  # a line of another form is text
            if found:
                last, is_inside = found.time, True
            return BETWEEN if found is None and not is_inside and _is_title(text) else found

        return parse


def _is_title(text: str) -> bool:
    return not text.strip() or text.strip() == HEADER or bool(TITLES.match(text) or SAVED.match(text))


def _unquoted(text: str) -> str:
    """Return a field of a CSV file without its quotes."""
    return text[1:].removesuffix('"').replace('""', '"') if text.startswith('"') else text


def _first_line(
    text: str, day: _Day | None, last: int | None, forms: Sequence[re.Pattern[str]]
) -> tuple[FirstLine | None, re.Pattern[str] | None]:
    """Return the first line of a message (None for another line), and the form of the line.

    - day: the date in the last date line.
    - last: the last time.
    - forms: the forms that are tried.
    """
    m = next(filter(None, (form.match(text) for form in forms)), None)
    if not m:
        is_notice = last is not None and DESKTOP in forms and NOTICE.match(text)
        return (FirstLine(last, None, text) if is_notice else None), None
    of = m.groupdict()
    hour, half = int(of["H"]), of.get("half") or of.get("half2")
    if half and 1 <= hour <= 12:
        hour = hour % 12 + 12 * (half in ("오후", "PM"))
    written = _day(m) if of.get("y") or of.get("y2") else day
    time = None if written is None else since_1970(*written, hour, int(of["M"]), int(of.get("S") or 0))
    if time is None:
        return None, None
    said = of["notice"] if of["text"] is None else of["text"]
    return FirstLine(time, of["who"], said, "csv" if m.re is CSV else ""), m.re


def _day(found: re.Match[str]) -> _Day:
    of = found.groupdict()
    if of.get("y2"):
        return _Day(int(of["y2"]), month_of(of["b"]), int(of["d2"]))
    return _Day(int(of["y"]), int(of["m"]), int(of["d"]))


def is_kakao(head: bytes, url: str) -> bool:
    """Return whether `head`, the first bytes of the file `url`, is the beginning of a KakaoTalk export."""
    lines = re.split(r"\r\n|\r|\n", head[:8_192].decode("utf-8", "replace"))
    lines = [line for line in lines if line.strip()][:HEAD_LINES]
    if files.suffix(url) == ".csv":
        return len(lines) > 1 and lines[0].strip() == HEADER and bool(CSV.match(lines[1]))
    titled = any(TITLES.match(line) or SAVED.match(line) for line in lines[:3])
    return titled and any(NEW_DAY.match(line) or MOBILE.match(line) for line in lines)
