"""Pseudonyms and consent: who is who, what is found in texts, and that no name is left in the output folder."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model import batch as B
from dataprep.core.run.context import Context
from dataprep.core.run.trial import Trial
from dataprep.errors import PlanError
from dataprep.messages.names import kernel as K
from dataprep.messages.names.matching import folded, identity, words
from dataprep.messages.names.pseudonyms import digest, shortest
from dataprep.messages.names.stage import Consent, Pseudonyms
from dataprep.messages.names.trie import build
from dataprep.pii.stage import PII
from dataprep.store import files
from dataprep.unicode.splice import splice
from twins.names import names_in

KEY = b"a key of enough bytes"
GROUP = """03/05/2024, 09:13 - Ilse Varga created group "Beans of Ondreville"
03/05/2024, 09:13 - Ilse Varga: Good morning MAREK, ilseee here, zoe too
03/05/2024, 09:14 - Marek Lund: hi @\u2068~ Zoé Amrani\u2069! VARGA's dog; Ilsebill and Lundgren are others
03/05/2024, 09:15 - +212 6 12 34 56 78: I am new, @212612345678
03/05/2024, 09:15 - ماريك الفاسي: قلت لماريك وماريكك
03/05/2024, 09:16 - Mama: Mama said that Ilse_Varga.pdf is @mama
"""
DIRECT = """03/05/2024, 09:13 - Teo Brandt: it is me
03/05/2024, 09:14 - Teo Brandt: Henrike, answer, Henrike Sol
"""
NAMES = ["Ilse", "Varga", "Marek", "Lund", "Zoé", "Zoe", "Amrani", "612345678", "Teo", "Brandt", "Henrike", "Sol",
         "ماريك", "الفاسي", "Ondreville"]  # fmt: skip


@pytest.fixture
def docs(tmp_path):
    """Two chats whose file names are names."""
    for name, text in (("Beans of Ondreville", GROUP), ("Henrike Sol", DIRECT)):
        (tmp_path / f"WhatsApp Chat with {name}.txt").write_text(text, encoding="utf-8")
    return dp.read(str(tmp_path / "*.txt"))


def texts_of(docs):
    return docs.table().column("text").to_pylist()


def everything_in(folder) -> str:
    """All that can be read in a folder: the bytes of files and their paths, and Parquet's columns."""
    told = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            told += [path.removeprefix(str(folder)), Path(path).read_bytes().decode("utf-8", "replace")]
            if name.endswith(".parquet"):
                told.append(str(pq.read_table(path).to_pylist()))
    return "\n".join(told)


def test_names_in_texts(docs, tmp_path):
    """Whole names and their words, mentions, possessives, prefixes and stretched ones; never parts of words."""
    safe = dp.Pipeline(Pseudonyms(key=KEY, mapping=str(tmp_path / "who.parquet"))).run(docs, out=str(tmp_path / "out"))
    rows = pq.read_table(tmp_path / "who.parquet").to_pylist()
    who = {identity(r["name"]): r["pseudonym"] for r in rows if r["kind"] != "chat"}
    ilse, marek, zoe, phone = (who[n] for n in ("ilse varga", "marek lund", "zoé amrani", "+212 6 12 34 56 78"))
    fassi, sol = who["ماريك الفاسي"], who["henrike sol"]
    assert texts_of(safe) == [
        "<system>",
        f"Good morning {marek}, {ilse} here, {zoe} too",
        f"hi @{zoe}! {ilse}'s dog; Ilsebill and Lundgren are others",
        f"I am new, @{phone}",
        f"قلت ل{fassi} وماريكك",
        f"Mama said that {ilse}.pdf is @{who['mama']}",
        "it is me",
        f"{sol}, answer, {sol}",
    ]
    counts = safe.stats["Pseudonyms"].counts
    assert counts == {"redacted": 1, "names.replaced": 11, "names.common_left": 1}
    assert set(safe.table().column("author").to_pylist()) == {
        None,
        ilse,
        marek,
        phone,
        fassi,
        who["mama"],
        who["teo brandt"],
    }


def test_no_name_is_left_in_the_folder(docs, tmp_path):
    """Not one name stands in any file or path of the output, whatever stages come before and after, and no key."""

    def short(text):
        return "too_short" if len(text) < 12 else None

    stages = dp.Filter(short), dp.Exact(), Pseudonyms(key=KEY), dp.Filter(short), dp.MinHash(), dp.chats.Conversations()
    for name, runner in (("serial", None), ("local", laws.TWO)):
        dp.Pipeline(*stages).run(docs, out=str(tmp_path / name), runner=runner)
    told = everything_in(tmp_path / "serial").casefold()
    assert [
        name
        for name in NAMES
        if name.casefold() in told.replace("lundgren", "").replace("ilsebill", "").replace("وماريكك", "")
    ] == []
    assert KEY.decode() not in told
    assert KEY.hex() not in told
    laws.same_bytes(tmp_path / "serial", tmp_path / "local")
    assert sorted(os.listdir(tmp_path / "serial")) == [
        ".dataprep-journal",
        ".huggingface.yaml",
        "data",
        "drops",
        "manifest.json",
        "receipts",
        "recipe.json",
        "steps",
    ]
    assert [s[:2] for s in os.listdir(tmp_path / "serial/steps")] == ["05"]


def test_a_stopped_run_keeps_its_pseudonyms(docs, tmp_path, monkeypatch):
    """Without a key a run that is stopped goes on with the names it gave; another folder gets others."""
    stages = Pseudonyms(mapping=str(tmp_path / "who.parquet")), dp.MinHash()

    def killed(*_):
        raise InterruptedError

    monkeypatch.setattr(dp.MinHash, "fit", killed)
    with pytest.raises(InterruptedError):
        dp.Pipeline(*stages).run(docs, out=str(tmp_path / "one"))
    first = pq.read_table(tmp_path / "who.parquet")
    monkeypatch.undo()
    one = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "one"))
    assert pq.read_table(tmp_path / "who.parquet").equals(first)
    assert set(one.table().column("author").to_pylist()) - {None} <= set(first.column("pseudonym").to_pylist())
    files.write_bytes(str(tmp_path / "one/steps/01-left/keys"), b"")  # as a kill before the end would leave both
    files.write_bytes(str(tmp_path / "one/_unfinished/recipe.json"), (tmp_path / "one/recipe.json").read_bytes())
    again = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "one"))
    assert again.manifest == one.manifest
    assert not any(n.startswith("01") for n in os.listdir(tmp_path / "one/steps"))
    other = dp.Pipeline(*stages).run(docs, out=str(tmp_path / "two"))
    assert set(texts_of(one)) != set(texts_of(other))


def test_keys(docs, tmp_path, monkeypatch):
    """The same key from a file, the environment or bytes is one key; another gives other names; none is printed."""
    (tmp_path / "key").write_bytes(KEY + b"\n")
    monkeypatch.setenv("PEOPLE_KEY", KEY.decode())
    same = [Pseudonyms(key=str(tmp_path / "key")), Pseudonyms(key="env:PEOPLE_KEY"), Pseudonyms(key=KEY)]
    assert len({(p.fingerprint, repr(p)) for p in same}) == 1
    assert KEY.decode() not in repr(same)
    assert Pseudonyms(key=KEY + b"!").fingerprint != same[0].fingerprint
    fitted = same[0].fit(docs, dp.tools.Serial(), str(tmp_path / "fit"))
    assert KEY not in pickle.dumps(fitted)
    assert KEY.decode() not in everything_in(tmp_path / "fit")


def test_a_secret_that_was_given_as_a_path_is_not_said() -> None:
    """Neither in the sentence nor in the errors before it."""
    for secret in ("k3y" * 12, "k3y" * 200, "s3://k3y/k3y", "k3y\0"):
        with pytest.raises(PlanError, match="pass a secret as bytes") as raised:
            Pseudonyms(key=secret)
        assert "k3y" not in str(raised.value)
        assert raised.value.__suppress_context__


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key": b"short"}, "openssl rand"),
        ({"key": "nowhere.key"}, "could not read the key"),
        ({"key": "env:NO_SUCH_VARIABLE"}, "not set"),
        ({"pseudonym_format": "{}"}, "must contain a word"),
        ({"min_suffix_letters": 1}, "2 to 32"),
        ({"names": "nowhere.txt"}, "could not read the names"),
        ({"names": ""}, "an empty string instead of names"),
        ({"names": [""]}, "no names, since the list is empty"),
        ({"names": 5}, "5 instead of names"),
        ({"names": ["\u2764"]}, "has no letters"),
        ({"key": 5}, r"key=int\) must be the path"),
        ({"people": " "}, "people file"),
        ({"exports": "chats/"}, "must be what dp.read returns"),
        ({"consent": "Ilse"}, "must be a Consent"),
        ({"common_words": "will"}, r"must be a tuple of words, such as \('will',\)"),
        ({"redact_kinds": ("zzz",)}, "'zzz', which must be one of text"),
        ({"pii": "yes"}, "must be True or False"),
        ({"min_chars": "3"}, "must be a whole number"),
    ],
)
def test_wrong_parameters(given, said):
    """Wrong values are rejected in one sentence before anything is read."""
    with pytest.raises(PlanError, match=said):
        Pseudonyms(**given)


def test_mapping_stays_outside(docs, tmp_path):
    """A mapping inside the folder that others get is refused."""
    with pytest.raises(PlanError, match="must be outside the run's folder"):
        dp.Pipeline(Pseudonyms(key=KEY, mapping=str(tmp_path / "out/who.parquet"))).run(docs, out=str(tmp_path / "out"))


def messages(rows):
    """(chat, author, text) as a Dataset's batch."""
    columns = {"chat": [r[0] for r in rows], "author": [r[1] for r in rows], "kind": ["text"] * len(rows)}
    arrays = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return B.make(list(range(len(rows))), [r[2] for r in rows], "s", columns=arrays)


def pseudonymised(rows, folder, **given):
    """What is left of (chat, author, text), as (chat, author, text), and the book."""
    rows = [{"text": text, "chat": chat, "author": author, "kind": "text"} for chat, author, text in rows]
    docs = laws.dataset_of(folder, rows, strings=("chat", "author", "kind"))
    safe = dp.Pipeline(Pseudonyms(key=KEY, **given)).run(docs, out=str(folder / "out"))
    left = [(r["chat"], r["author"], r["text"]) for r in safe.table().to_pylist()]
    return left, safe.stats["Pseudonyms"]


def test_a_shared_first_name_means_who_is_there(tmp_path):
    """Of two Ilses the one in the chat is meant; where both or neither are, a pseudonym that is nobody's."""
    rows = [("a", "Ilse Varga", "Ilse"), ("b", "Ilse Sol", "Ilse"), ("c", "Ilse Sol", "x"), ("c", "Ilse Varga", "x"),
            ("c", "Teo", "Ilse"), ("d", "Teo", "ilse, Ilse Sol"), ("d", "Abel Ost", "x")]  # fmt: skip
    left, book = pseudonymised(rows, tmp_path)
    varga, sol, nobody = left[0][1], left[1][1], left[4][2]
    assert [left[0][2], left[1][2], left[5][2]] == [varga, sol, f"{nobody}, {sol}"]
    assert len({varga, sol, nobody}) == 3
    assert book.counts["names.shared"] == 2


def test_common_words_stay_unless_mentioned(tmp_path):
    """May is a month, @May a person; `common_words=()` replaces all, `names=` adds people who never wrote."""
    rows = [("a", "May Sol", "in may or May I, @may"), ("a", "Jo", "Jo and @jo"), ("a", "Teo", "Zarina")]
    left, book = pseudonymised(rows, tmp_path, names=("Zarina",))
    assert left[0][2] == f"in may or May I, @{left[0][1]}"
    assert left[1][2] == f"Jo and @{left[1][1]}"
    assert left[2][2].startswith("Person-")
    assert book.counts["names.common_left"] == 3
    (tmp_path / "all").mkdir()
    left, _ = pseudonymised(rows, tmp_path / "all", common_words=(), min_chars=2)
    assert (left[0][2], left[1][2]) == (
        f"in {left[0][1]} or {left[0][1]} I, @{left[0][1]}",
        f"{left[1][1]} and @{left[1][1]}",
    )


def test_empty_and_missing_names(tmp_path):
    """An empty name is a person's, too; what has no author or no chat stays without."""
    rows = [("", "", "x Sol"), ("a", "Ilse Sol", "x"), (None, "Teo", "Ilse"), ("a", None, "Teo")]
    columns = {"author": [r[1] for r in rows], "chat": [r[0] for r in rows], "text": [r[2] for r in rows]}
    table = pa.table({**columns, "kind": ["text"] * len(rows)})
    pq.write_table(table, tmp_path / "messages.parquet")
    docs = dp.read(str(tmp_path / "messages.parquet"), columns=["author", "chat", "kind"])
    safe = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out")).table().to_pylist()
    ilse, teo = safe[1]["author"], safe[2]["author"]
    assert [r["text"] for r in safe] == [f"x {ilse}", "x", ilse, teo]
    assert [r["author"] is None for r in safe] == [False, False, False, True]
    assert [r["chat"] is None for r in safe] == [False, False, True, False]


def test_meta_keeps_what_names_nobody(tmp_path):
    """Of meta only the keys that are asked for stay; files' names, forwards and reactions go."""
    from dataprep.messages.names.replace import _only

    assert _only('{"edited":true,"forwarded":"Teo","reactions":{"Teo":"!"}}', ("edited",)) == '{"edited":true}'


def consented(rows, folder, **lists):
    """The texts that are left, and the reasons."""
    folder.mkdir(exist_ok=True)
    rows = [{"text": text, "chat": chat, "author": author, "kind": "text"} for chat, author, text in rows]
    docs = laws.dataset_of(folder, rows, strings=("chat", "author", "kind"))
    safe = dp.Pipeline(Consent(**lists)).run(docs, out=str(folder / "out"), replace=True)
    return safe.table()["text"].to_pylist(), safe.stats["Consent"].reasons


def test_consent_by_either_list(tmp_path):
    """Refused people's messages go, or all but those of people who agreed; what the platform says stays."""
    rows = [("a", "Zoé Amrani 🌻", "1"), ("a", "~ teo", "2"), ("a", None, "3"), ("a", "🌻", "4")]
    for lists in ({"refused": ("zoe amrani", "🌻")}, {"allowed": ("TEO",)}):
        assert consented(rows, tmp_path, **lists) == (["2", "3"], {"no_consent": 2})
    with pytest.raises(PlanError, match="either refused= or allowed="):
        Consent()
    assert "zoe" not in repr(Consent(refused=("zoe",)))


PHONES = ("+212 6 11 22 33 44", "+212\u00a0611\u2011223344", "0611223344", "06.11.22.33.44", "00212611223344",
          "\u202a+212 611-22-33-44\u202c", "٠٦١١٢٢٣٣٤٤")  # fmt: skip


@pytest.mark.parametrize("listed", PHONES)
def test_consent_compares_phones_by_digits(tmp_path, listed):
    """A number on the list is the author of that number, in any form, and no other number."""
    for author in PHONES[:2]:
        rows = [("a", author, "1"), ("a", "+212 6 11 22 33 45", "2"), ("a", "Teo 0611223399", "3")]
        assert consented(rows, tmp_path, refused=(listed,)) == (["2", "3"], {"no_consent": 1})
        assert consented(rows, tmp_path, allowed=(listed,))[0] == ["1"]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("listed", "nearest"), [
    ("Zoe Amrany", "Zoé Amrani"), ("Amrani", "Zoé Amrani"), ("+212 6 11 22 33 45", None),
    ("+213 6 99 22 33 44", "0611223344"), ("ماريك", "ماريك الفاسي"), ("Somebody", None),
])  # fmt: skip
def test_a_listed_name_that_is_nobodys_stops_the_run(tmp_path, listed, nearest, inside):
    """Before anything is dropped, with the nearest authors; `strict=False` goes on."""
    rows = [("a", "Zoé Amrani", "1"), ("a", "0611223344", "2"), ("a", "ماريك الفاسي", "3"), ("a", None, "4")]

    def run(name, **consent):
        (tmp_path / name).mkdir()
        if inside:
            return pseudonymised(rows, tmp_path / name, consent=Consent(**consent))
        return consented(rows, tmp_path / name, **consent)

    for which in ("refused", "allowed"):
        shown = f"the most similar authors are '{nearest}" if nearest else "write the names as the export does"
        said = rf"1 of 2 names .*'{re.escape(listed)}'; {shown}"
        with pytest.raises(PlanError, match=said):
            run(which, **{which: ("zoe amrani", listed)})
        assert not (tmp_path / which / "out" / "manifest.json").exists()
    run("loose", allowed=("zoe amrani", listed), strict=False)


@pytest.mark.parametrize("inside", [True, False])
def test_a_dry_run_says_which_listed_names_are_nobodys(tmp_path, caplog, inside):
    """An error if it reads everything, as a run would raise; of a sample, a warning."""
    rows = [("a", "Zoé Amrani", f"a long text {k}") for k in range(200)]
    given = Consent(refused=("Zoe Amrany",))
    rows = [{"text": text, "chat": chat, "author": author, "kind": "text"} for chat, author, text in rows]
    docs = laws.dataset_of(tmp_path, rows, parts=2, strings=("chat", "author", "kind"))
    stage = Pseudonyms(consent=given) if inside else given
    for limit in (1 << 20, 100):
        run = Context(dp.tools.Serial(), Trial(str(tmp_path / str(limit)), limit))
        if limit == 1 << 20:
            with pytest.raises(PlanError, match="1 of 1 names .* not authors: 'Zoe Amrany'"):
                dp.Pipeline(stage).run(docs, out=str(tmp_path / str(limit) / "out"), runner=run)
        else:
            dp.Pipeline(stage).run(docs, out=str(tmp_path / str(limit) / "out"), runner=run)
    assert "not authors in the sample: 'Zoe Amrany'" in caplog.text


def test_consent_inside_pseudonyms_learns_the_names_first(tmp_path):
    """Who refused is gone as an author and hidden in what others wrote."""
    rows = [("a", "Ilse Varga", "hi"), ("a", "Teo", "Ilse left")]
    left, book = pseudonymised(rows, tmp_path, consent=Consent(refused=("ilse varga",)))
    assert [text.split()[1] for _, _, text in left] == ["left"]
    assert "Ilse" not in left[0][2]
    assert book.reasons == {"no_consent": 1}


@pytest.mark.parametrize(("text", "left"), [
    ("06 12 34 56 78", "<phone>"), ("+212 6-12-34-56-78", "<phone>"), ("\u200e+33 6 12 34 56 78", "\u200e<phone>"),
    ("٠٦١٢٣٤٥٦٧٨", "<phone>"), ("ask @212612345678", "ask @<phone>"), ("wa.me/212612345678", "wa.me/<phone>"),
    ("a@b.ma 41.92.12.7", "<email> <ip>"), ("MA64011519000001205000534921", "<iban>"),
    ("9albi 3lach 12:30 2024", "9albi 3lach 12:30 2024"), ("x@212612345678 a", "x@<phone> a"),
])  # fmt: skip
def test_personal_data_of_messages(text, left):
    """PII works on messages as they are: numbers as chats write them, every other column unchanged, finds counted."""
    kept, _, book = laws.apply(PII(), [messages([("a", "Teo", text)])])
    assert [(r["text"], r["chat"], r["author"]) for r in kept] == [(left, "a", "Teo")]
    assert sum(book.counts.values()) == left.count("<")


def test_pseudonyms_are_told_apart():
    """Some of 1,000 names share four digits; these, and only these, get more."""
    digests = [digest(KEY, "person", f"name {i}") for i in range(1000)]
    short = shortest(digests, 4)
    assert len(set(short.values())) == 1000
    starts = [one[:4] for one in digests]
    assert all((len(short[one]) > 4) == (starts.count(one[:4]) > 1) for one in digests)
    assert any(len(s) > 4 for s in short.values())


def test_what_two_spellings_share():
    """Identity forgives case and invisible signs; words also accents, emoji, vowel signs and hamza seats."""
    assert identity("~ Ilse\u200e  VARGA") == identity("ilse varga") != identity("Ilse Varga 🌻")
    assert words("Zoë O’Brien-أَحمـد 🌻") == ("zoe", "o", "brien", "احمد")
    assert words("فاطمة") == words("فاطمه")


TERMS = ["ab", "abc", "ab ca", "c", "b a", "وا", "aab", "abcabc", "abca"]
PIECES = ["a", "b", "c", "A", " ", "-", "\u200f", "و", "ل", "ا", "é", "\n", "!", "ab", "abbb", "@", "ـ", "٣", "\\n",
          "abca", "x", "x2"]  # fmt: skip


@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), max_size=4))
def test_the_kernel_finds_what_its_twin_finds(texts):
    """Every name the plain search finds, in bytes, and no other."""
    terms = sorted(TERMS)
    offsets, data = B.buffers(pa.array(texts, pa.large_string()))
    prefixes = folded()[[ord(c) for c in "ول"]]
    hits = K.find_names(offsets, data, folded(), *build(terms), prefixes)
    found = [(d, a - offsets[d], b - offsets[d], t) for d, a, b, t, _ in hits.tolist()]
    plain = [(d, len(text[:a].encode()), len(text[:b].encode()), t)
             for d, text in enumerate(texts) for a, b, t in names_in(text, terms, "ول")]  # fmt: skip
    assert found == plain
    begins, news = np.zeros(len(hits), np.int64), np.frombuffer(b"<x>", np.uint8)
    made = B.strings(*splice(offsets, data, hits[:, 1:3].copy(), begins, begins + 3, news))
    wanted = []
    for d, text in enumerate(texts):
        for row, a, b, _ in reversed(found):
            text = (text.encode()[:a] + b"<x>" + text.encode()[b:]).decode() if row == d else text  # noqa: PLW2901
        wanted.append(text)
    assert made.to_pylist() == wanted


def test_words_that_only_groups_share(tmp_path) -> None:
    """Groups whose names begin and end alike, and a person with a group's first and last word, have pseudonyms."""
    wrote = {"Quist 2023 Choir": "Ilse Varga", "Quist 2024 Choir": "Marek Lund", "Teo and Brandt": "Teo Brandt"}
    for name, author in wrote.items():
        people = author, "Zoe Amrani", "Ivo Sol"
        said = "".join(f"03/05/2024, 09:13 - {one}: QuistChoir, TeoBrandt\n" for one in people)
        (tmp_path / f"WhatsApp Chat with {name}.txt").write_text(said, encoding="utf-8")
    docs = dp.read(str(tmp_path / "*.txt"))
    safe = dp.Pipeline(Pseudonyms(key=KEY)).run(docs, out=str(tmp_path / "out"))
    assert len(set(texts_of(safe))) == 1
    authors = dict(zip(docs.table()["author"].to_pylist(), safe.table()["author"].to_pylist(), strict=True))
    group, person = texts_of(safe)[0].split(", ")
    assert person == authors["Teo Brandt"], "a person's name goes before a group's"
    assert group in set(safe.table()["chat"].to_pylist())
