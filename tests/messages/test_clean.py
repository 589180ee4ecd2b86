"""Cleaning: what each rule takes, what none may take, and that few looked at is the same as all looked at."""

from __future__ import annotations

import random
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.errors import PlanError
from dataprep.messages import clean_prefilter as S
from dataprep.messages import clean_rules as R
from dataprep.messages.captions import caption
from dataprep.messages.clean import CleanMessages
from dataprep.messages.emoji import PICTURES, emoji_counts, emoji_spans
from dataprep.pii.rules import emails
from twins.clean import clean_message

OFF = {
    "links": None, "emails": None, "phones": None, "mentions": None, "edit_marks": False, "invisible": False,
    "laughter": False, "max_repeat": None,
}  # fmt: skip


def batch_of(texts, kinds=None, metas=None) -> B.Batch:
    columns = {"kind": pa.array(kinds or ["text"] * len(texts), pa.string())}
    return B.make(range(5, 5 + len(texts)), pa.array(texts, pa.large_string()), "s", metas, columns=columns)


def clean(text, **how):
    """What is left of one message, None if it is dropped; and what was counted."""
    rows, _, book = laws.apply(CleanMessages(**how), [batch_of([text])])
    return rows[0]["text"] if rows else None, {n: c for n, c in book.counts.items() if c}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("look at https://x.org/a?b=c please", "look at please"),
        ("(see https://en.example.org/wiki/A_(b)), ok", "(see), ok"),
        ("a site (https://x.example.org), [b](www.x.org) and (a@x.org", "a site, [b] and ("),
        ("youtu.be/abc و www.site.ma/x, شوفhttps://a.b/c", "و, شوف"),
        ("on example.com.ma or example.org.", "on or."),
        ("écris à jean.info@site.fr !", "écris à !"),
        ("appelle +212 612-345678 ou 06 12 34 56 78 stp", "appelle ou stp"),
        ("@\u2068Ilse V\u2069 et @Marek, @212612345678 <@123456789> oui", "et, oui"),
        ("hahahaha AHAHAH Hahahahha hehehehe jajajaja хахаха wkwkwk", "haha HAHA Haha hehe jaja хаха wkwk"),
        ("hhhhhhhh ههههههه هـههـهه kkkkk ㅋㅋㅋㅋㅋ خخخخخ", "hhh ههه ههه kkk ㅋㅋㅋ خخخ"),
        ("mdrrrr ptdrrr MDRRR loooool lolll lmaooo XDDDD ขำ 55555", "mdr ptdr MDR lol lol lmao XD ขำ 555"),
        ("nooooon!!!!!! ........ بزااااااف", "nooon!!! ... بزاااف"),
        ("salut \u200e<Ce message a été modifié>", "salut"),
        ("\u200fمرحبا\u202c \ufeff", "مرحبا "),
        ("the garden\nhttps://a.example/b", "the garden"),
        ("https://a.example/b\nthe garden\n0612345678\nis open", "the garden\nis open"),
        ("https://a.example/b", None),
        (" \u00a0\n", None),
    ],
)
def test_what_is_taken(text, left) -> None:
    """Links, addresses, phones, mentions, laughter, repeats and marks go, with the gap that they would leave."""
    assert clean(text)[0] == left


@pytest.mark.parametrize(
    "text",
    [
        "they added you to the list",
        "you deleted this message? null",
        "Ilse created group soup, he left",
        "3lach a khouya 9albi 7ta nta 2ana 5obz 3aych 6 7 9 3la 3lach",
        "la7dit 3 9 7 2 5 1 f 2026, 10000000 dh ou 5555 dh, 12.30, 3/4/2024, 20:15",
        "oui.merci c.a.d svp.la suite.je ok.ma e.g. 30.km/h et/ou n.b.",
        "@7 @20h30 a@b on verra",
        "papa elle nonna baba kiki coucou 2eme look hello aha haha hehe Jaja ok xd lol mdr",
        "صافي واخا، العدد ١٢٣٤ والساعة ٣",
        "good - very -- good, wait... what?! 😂😂😂😂😂 🇲🇦🇲🇦 👍🏽 ❤️",
        "  two  gaps stay  ",
        "a < b <3 <not a mark>",
    ],
)
def test_what_stays(text) -> None:
    """Sentences with words of system lines, Arabizi's digits, numbers, short laughter and emoji are left alone."""
    assert clean(text) == (text, {})


SAYS_ALL = {
    "links": "see https://x.org",
    "emails": "to a@b.org",
    "phones": "call 0612345678",
    "mentions": "hi @Ilse",
    "edit_marks": "hi \u200e<edited now>",
    "invisible": "\u200ehi",
    "laughter": "ok hahahaha",
    "repeats": "noooooo",
    "emoji": "ok 😂😂",
}


@pytest.mark.parametrize("rule", SAYS_ALL)
def test_each_rule_is_counted_and_can_be_off(rule) -> None:
    """A rule alone changes its own text and counts it; all others on, it leaves that text alone."""
    name = {"repeats": "max_repeat"}.get(rule, rule)
    on = {"max_repeat": 3, "emoji": "collapse"}.get(name, "" if OFF.get(name, 0) is None else True)
    text = SAYS_ALL[rule]
    left, counted = clean(text, **{**OFF, name: on})
    assert left != text
    assert counted == {rule: 1}
    off = {name: OFF.get(name, "keep")} | ({"invisible": False} if rule == "edit_marks" else {})
    assert clean(text, **off) == (text, {})


def test_replacements() -> None:
    """What is written in the place of a find can be chosen; a link that stays is not looked into."""
    how = {"links": "<link>", "emails": "<e>", "phones": "<p>", "mentions": "@someone"}
    text = "https://x.org, a@b.org 0612345678 @Ilse"
    assert clean(text, **how)[0] == "<link>, <e> <p> @someone"
    kept = "https://x.org/0612345678/@name/a@b.org/hahahahaaaaa !!!!"
    assert clean(kept, links=None) == (kept[:-1], {"repeats": 1})


def test_emoji_policies() -> None:
    """Emoji are kept, dropped without gluing words, or one of a run is."""
    text = "😂😂😂 ok 👍🏽👍🏽👍 oui😂non ❤️❤️ 1️⃣2️⃣ 🇲🇦🇲🇦"
    assert clean(text)[0] == text
    assert clean(text, emoji="drop") == ("ok oui non", {"emoji": 13})
    assert clean(text, emoji="collapse") == ("😂 ok 👍🏽👍 oui😂non ❤️ 1️⃣2️⃣ 🇲🇦", {"emoji": 5})
    assert clean("😂 ❤️", emoji="drop")[0] is None


def test_kinds_and_captions() -> None:
    """What is no text is dropped, its kind being the reason; captions stay, placeholders do not."""
    kinds = ["text", "image", "image", "video", "file", "system", "sticker", None, "image", "text", "poll", "file",
             "video"]  # fmt: skip
    texts = ["hi", "IMG-1.jpg (file attached)\nthe\nbeans", "beans too", "<Media omitted>", "", "Ivo joined", "s.webp",
             "?", "at last \u200e<attached: P.jpg>", "https://x.org", "Q?",
             "beans.pdf • \u200e2 pages \u200edocument omitted", "left out"]  # fmt: skip
    metas = ["{}"] * len(kinds)
    metas[1], metas[2], metas[8] = '{"file": "IMG-1.jpg"}', '{"files": ["a.jpg", "b.jpg"]}', '{"file": "P.jpg"}'
    metas[12] = '{"file": null}'
    batch = batch_of(texts, kinds, metas)
    rows, _, book = laws.apply(CleanMessages(), [batch])
    assert [(r["kind"], r["text"]) for r in rows] == [
        ("text", said) for said in ("hi", "the\nbeans", "beans too", "at last", "left out")
    ]
    assert book.reasons == {"video": 1, "file": 2, "system": 1, "sticker": 1, "no_kind": 1, "poll": 1, "empty": 1}
    assert book.counts["captions"] == 4
    rows, _, _ = laws.apply(CleanMessages(captions=False, kinds=("text", "sticker")), [batch])
    assert [r["text"] for r in rows] == ["hi", "s.webp"]


def test_captions_behind_pseudonyms() -> None:
    """Where the file's name is hidden (null), WhatsApp's placeholders are told by their form."""
    hidden = '{"edited": true, "file": null}'
    for text, said in (
        ("the beans", "the beans"), ("IMG-1.jpg (file attached)\nthe beans", "the beans"), ("P.jpg (anexado)", ""),
        ("<attached: P.jpg>", ""), ("so \u200e<attached: P.jpg>", "so"), ("see you (soon)", "see you (soon)"),
    ):  # fmt: skip
        assert caption(text, hidden) == said


PIECES = (
    "https://x.org/a(b)", "www.a.ma", "youtu.be/q", "ok.merci", "x.org", "a@b.org", "@Ilse", "@\u2068M L\u2069",
    "\u2068", "0612345678", "+212 612-345678", "hahaha", "HAHAHAhah", "hhhhh", "ههههه", "loool", "mdrrr", "xDDD",
    "nooooo", "lmaoo", "!!!!!", "55555", "ก5555", "😂😂", "👍🏽👍🏽", "👨‍👩‍👧", "🇲🇦🇲🇦", "1️⃣", "©️", "❤",
    "\u200e", "\u200e<edited>", "\x1e", "\x1d", "\n",
    "3lach", "é", "Хахаха", "\x7fx", ".", "(", ")", "هاهاها", "\u00a0", "\t", "lolll", "kkkk", "١٢٣٤٥٦٧٨٩",
    "...", "www.3x",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text("ah jlo.@/😂\u200e5", max_size=6) | st.text(max_size=3), max_size=8)
POLICIES = st.builds(
    CleanMessages,
    links=st.sampled_from(["", "<link>", None]),
    emails=st.sampled_from(["", None]),
    phones=st.sampled_from(["", "<p>", None]),
    mentions=st.sampled_from(["", None]),
    invisible=st.booleans(),
    laughter=st.booleans(),
    max_repeat=st.sampled_from([2, 3, None]),
    emoji=st.sampled_from(["keep", "drop", "collapse"]),
)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(["", " "]), TEXTS).map(lambda t: t[0].join(t[1])), max_size=6),
    POLICIES,
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
def test_few_looked_at_is_all_looked_at(texts, stage, sizes) -> None:
    """The stage says what every rule on each message by itself says; cuts do not matter and the books balance."""
    batch = batch_of(texts)
    rows, drops, book = laws.apply(stage, [batch])
    wanted = [clean_message(text, stage) for text in texts]
    assert [r["text"] for r in rows] == [text for text, _ in wanted if text.strip()]
    assert len(drops) == sum(not text.strip() for text, _ in wanted)
    assert {n: c for n, c in book.counts.items() if c} == dict(sum((c for _, c in wanted), Counter()))
    laws.cuts_do_not_matter(stage, batch, sizes)
    laws.books_balance(stage, batch)


@pytest.mark.parametrize("emoji", ["drop", "collapse"])
def test_one_thing_alone_is_looked_at(emoji) -> None:
    """A message that holds a single thing that a rule changes is found, by each of the kernel's tests."""
    texts = [*PIECES, *(chr(int(edge, 16)) * 2 for span in PICTURES.split() for edge in span.split("-"))]
    for on in (*OFF, "emoji"):
        how = {name: off for name, off in OFF.items() if name != on}
        stage = CleanMessages(**how, emoji=emoji if on == "emoji" else "keep")
        rows, _, _ = laws.apply(stage, [batch_of(texts)])
        wanted = [clean_message(text, stage)[0] for text in texts]
        assert [r["text"] for r in rows] == [text for text in wanted if text.strip()], on


def test_emoji_are_what_people_see() -> None:
    """Flags, keycaps, skin tones, families and tags are one emoji; digits, (c) and text forms are none."""
    one = ["😂", "👍🏽", "☝️🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇲🇦", "1️⃣", "❤️", "❤", "©️", "🙂‍↔️", "👩🏽‍🚀", "☀️",
           "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"]  # fmt: skip
    text = "x" + "".join(one)
    assert [text[a:b] for a, b in emoji_spans(text)] == one
    assert emoji_spans("1 # * © ™ a é ع ☎︎ — … “ ‼ → ■") == []
    regional = [chr(c) for c in range(0x1F1E6, 0x1F200)]
    assert not any(map(emoji_spans, regional)), "half a flag is no emoji"
    ends = [int(edge, 16) for span in PICTURES.split() for edge in span.split("-")]
    assert all(emoji_spans(chr(c)) == [(0, 1)] for c in ends)
    counts = emoji_counts(pa.array(["😂😂", "no", "ok 👍🏽", "👍", "1️⃣"], pa.large_string()))
    assert counts == {"😂": 2, "👍🏽": 1, "👍": 1, "1️⃣": 1}


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a-",
        "@a.",
        "https://)",
        "(",
        "h",
        "ha",
        "ah",
        "😂",
        "👨‍",
        "👨‍👩",
        ".com",
        "a.b/",
        "@",
        "1",
        "<@1",
        "\u200e<",
    ],
)
def test_long_runs_take_linear_time(piece) -> None:
    """A hundred thousand of anything is cleaned at once; a pattern that goes back would take hours."""
    text = piece * 100_000
    clean(text, emoji="collapse")
    clean("x" + text + " y", emoji="drop", links=None)


def test_sample_chat_in_a_pipeline(samples, tmp_path) -> None:
    """The sample export without media and system lines becomes talks; every message is accounted for, and why."""
    docs = dp.read(str(samples / "whatsapp_android.txt"))
    kinds = Counter(docs.table()["kind"].to_pylist())
    talks = dp.Pipeline(CleanMessages(), dp.chats.Conversations()).run(docs, out=str(tmp_path / "out"))
    reasons = talks.stats["CleanMessages"].reasons
    captions = talks.stats["CleanMessages"].counts["captions"]
    assert set(kinds) > {"text"}
    assert sum(reasons.values()) - reasons.get("empty", 0) == sum(kinds.values()) - kinds["text"] - captions
    assert sum(talks.table()["n_messages"].to_pylist()) == sum(kinds.values()) - sum(reasons.values())
    assert "omitted" not in "".join(talks.table()["text"].to_pylist())


def test_key_and_pickle() -> None:
    """The stage travels, and its key is that of its parameters."""
    laws.key_and_pickle_are_stable(CleanMessages(links="<link>"))


@pytest.mark.parametrize(
    "wrong",
    [{"kinds": ()}, {"links": 1}, {"phones": "\x1e"}, {"max_repeat": 1}, {"max_repeat": "3"}, {"emoji": "none"}],
)
def test_wrong_parameters(wrong) -> None:
    """Values that mean nothing are refused, the sentence naming the parameter."""
    with pytest.raises(PlanError, match=next(iter(wrong))):
        CleanMessages(**wrong)


@pytest.mark.parametrize("kinds", [("text", "txt"), "txt"])
def test_kinds_that_no_message_has(kinds) -> None:
    """A kind that no reader gives is refused with the kinds there are; one kind may be given as a plain text."""
    with pytest.raises(PlanError, match=r"\(kinds=.+\): 'txt' must be one of text, image, .+, deleted, system"):
        CleanMessages(kinds=kinds)
    assert CleanMessages(kinds="sticker") == CleanMessages(kinds=("sticker",))


def test_links_and_addresses_are_found_without_searching_all() -> None:
    """Searching only words with a dot, a :// or an @, and only at signs, finds what searching every character finds."""
    rng = random.Random(8)
    pieces = ["https://x.org/a", "www.x", "x.org", "youtu.be/", "a.b", "me@x.org", "@me", "<@123456>", "@", "://", ".",
              " ", " ", "\n", "\u00a0", "é", "王", ")", "(", "x@", "\u2028", "z" * 70]  # fmt: skip
    texts = ["".join(rng.choices(pieces, k=rng.randrange(12))) for _ in range(3_000)]
    packed, rows = R.Texts(*B.buffers(pa.array(texts, pa.large_string()))), np.arange(len(texts))

    def everywhere(text):
        return [m.span() for m in R._MENTION.finditer(text)]

    for fast, slow in (
        (R.in_words(S.LINK, R.links), R.links), (R.in_words(S.AT, emails), emails), (R.mentions, everywhere),
    ):  # fmt: skip
        found = fast(packed, rows)
        assert found.tolist() == R.in_messages(slow)(packed, rows).tolist()
        assert len(found) > 100


def test_letters_of_laughter_are_those_of_the_patterns() -> None:
    """Every letter that a pattern accepts, in either case, is in the table; rows are those that are asked for."""
    table = S.characters()
    for n, letters in enumerate(S.ALPHABETS):
        found = re.findall(f"[{letters}]", "".join(map(chr, range(0xD800))), re.IGNORECASE)
        assert set(np.flatnonzero(table & (1 << n)).tolist()) == set(map(ord, found)), letters
    texts = B.buffers(pa.array(["hahaha", "x.org", "@", "ok", "", "mdrr", "xdd", "haha"], pa.large_string()))
    flags = S.rules_needed(*texts, np.array([0, 1, 2, 4, 5, 6]), table, 3)
    assert flags.tolist() == [S.LAUGH, S.LINK, S.AT, S.BLANK, S.LAUGH, S.LAUGH]


@pytest.mark.parametrize("around", ["@\u2068{}\u2069", "ok \u200e<see {} now>"])
def test_kept_links_in_what_would_be_removed(around) -> None:
    """A mention or an edit mark with a link that is kept inside is kept, too."""
    left, _ = clean(around.format("https://x.org/a"), links=None, invisible=False)
    assert left == around.format("https://x.org/a")
