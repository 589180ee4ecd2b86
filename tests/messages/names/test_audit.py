"""The audit: each name or number that is planted anywhere in a folder is found, and nothing else."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
import laws
import twins.known as twin
from dataprep.core.output.audit import BYTES, CELL, FRAGMENT, TEXT, Strings, audit
from dataprep.errors import Leak
from dataprep.messages.names.consent import Consent
from dataprep.messages.names.known import KnownPeople
from dataprep.messages.names.stage import Pseudonyms

PEOPLE = KnownPeople((
    "Ilse Varga", "Zoé Amrani 🌻", "ماريك الفاسي", "+212 6 11 22 33 44", "teo.brandt@example.org", "noor_92", "Борис",
    "Max", "mama", "Jo",
), frozenset({"mama"}), ("Tomas Orr",))  # fmt: skip
SPELLINGS = (
    "Ilse Varga", "ILSE\u00a0VARGA", "ilse_varga", "Ilse-Varga", "zoe amrani", "ZOÉ  AMRANI", "𝐈𝐥𝐬𝐞 𝐕𝐚𝐫𝐠𝐚",
    "Ｉｌｓｅ Ｖａｒｇａ",
    "مَاريك الفاسي", "0611223344", "+212 611-22-33-44", "06\u00a011\u202f22 33 44", "Teo.Brandt@Example.ORG", "noor_92",
    "@Noor_92", "борис", "max",
)  # fmt: skip
CLEAN = "hello Person-hsjb, call <phone> Ilsebill maximum 06112233440 Mama Jo Tomas Orr борисов"


def rows(text):
    """A table with a text in nested, coded and plain columns."""
    messages = pa.array([[{"role": "user", "content": text}]] * 2)
    return pa.table({"text": ["a", text], "source": pa.array(["a", text]).dictionary_encode(), "messages": messages})


def parquet(path, text):
    """As compressed columns."""
    pq.write_table(rows(text), f"{path}.parquet", compression="zstd")


def write(suffix, make):
    """Return a function that writes a file of text."""
    return lambda path, text: Path(f"{path}{suffix}").write_text(make(text), encoding="utf-8")


PLACES = {
    "parquet": parquet,
    "value": write(".json", lambda text: json.dumps({"stats": [{"examples": [text]}]})),
    "key": write(".json", lambda text: json.dumps({"by source": {text: 1}}, ensure_ascii=True)),
    "jsonl": write(".jsonl", lambda text: "{}\n" + json.dumps({"messages": [{"content": f"so {text}"}]})),
    "page": write(".html", lambda text: f"<table><tr><td>text</td><td class=x>{text}</td></tr></table>"),
}


@pytest.mark.parametrize(("place", "spelling"), list(itertools.product(PLACES, SPELLINGS)))
def test_each_planted_leak_is_found(tmp_path, place, spelling):
    """85 leaks: every spelling in every kind of file; the message names file and value."""
    PLACES[place](tmp_path / "other", CLEAN)
    audit(str(tmp_path), PEOPLE, dp.tools.Serial())
    PLACES[place](tmp_path / "file", spelling)
    with pytest.raises(Leak, match=r"left in file\.\w+, .*value \d"):
        audit(str(tmp_path), PEOPLE, dp.tools.Serial())


REPLACED = dataclasses.replace(PEOPLE, prefixes="وفبلكולבכמשה", names=(
    *PEOPLE.names, "Lars Weiß", "김민수", "王小明", "Łukasz Wójcik", "user30123456", "301234567890123456",
    "Beans & Leaves", "प्रियंका शर्मा", "Nina van Dorn", "יעל כהנוביץ",
))  # fmt: skip
PLANTED = {
    "glued": "ilsevarga IlseVarga #IlseVarga #TeamIlseVarga #we_love_ilse_varga ninadorn #ninavandorn",
    "handles": "@ilsevarga @ilse.varga @noor_92 noor92 @Max t.me/ilsevarga https://example.org/in/ilse-varga-8a",
    "min_suffix_letters": "ilse2varga Ilse1Varga99 2024ilsevarga Max99 77max22 Борис١٢ борис92 ilse٢varga ilse²varga",
    "letters": "𝓘𝓵𝓼𝓮_𝓥𝓪𝓻𝓰𝓪 Ⓘⓛⓢⓔ_Ⓥⓐⓡⓖⓐ ɪʟꜱᴇ-ᴠᴀʀɢᴀ Ｍａｘ 𝕄𝕒𝕩 Ⓜⓐⓧ Z̈oe-A̋mrani Бориссс",
    "endings": "김민수는 김민수씨한테 김민수 王小明来了 和王小明说 ליעל_כהנוביץ وماريك_الفاسي Max's Борис’а Maxxx",
    "two letters": "LARS_WEISS lars-weiss Lukasz_Wojcik lukaszwojcik LUKASZ-WOJCIK larsweiss lars.weiß",
    "ids": "user30123456 30123456 <@301234567890123456> @301234567890123456 tg://user?id=30123456",
    "numbers": "+212611223344 0611223344 06-11-22-33-44 wa.me/212611223344 ٠٦١١٢٢٣٣٤٤ ⓪⑥①①②②③③④④ 00212611223344",
    "addresses": "ilsevarga@example.com teo.brandt@example.org ilse.varga+a@example.com MAX7@example.org",
    "signs": "Beans_&_Leaves Beans&Leaves #प्रियंकाशर्मा @प्रियंकाशर्मा प्रियंका_शर्मा",
}  # fmt: skip


@pytest.mark.parametrize("form", PLANTED)
def test_what_pseudonyms_replaces_is_found(tmp_path, form):
    """69 leaks in every form that is replaced, each planted alone into a column of texts; no false alarm without."""
    parquet(tmp_path / "a", CLEAN)
    audit(str(tmp_path), REPLACED, dp.tools.Serial())
    missed = []
    for leak in PLANTED[form].split():
        parquet(tmp_path / "b", f"so {leak} said")
        try:
            audit(str(tmp_path), REPLACED, dp.tools.Serial())
        except Leak:
            continue
        missed.append(leak)
    assert missed == []


SURNAMES, GIVEN = "王李张刘陈杨赵黄周吴", "伟芳娜敏静强磊洋艳勇军杰"


@pytest.mark.parametrize("how", [CELL, TEXT, FRAGMENT, BYTES])
def test_the_search_equals_trying_every_name(how):
    """Of 400 people of several scripts, all that occur in made texts are found, as by a loop over all of them."""
    rng = random.Random(6)
    chinese = [rng.choice(SURNAMES) + "".join(rng.choices(GIVEN, k=rng.choice((1, 2)))) for _ in range(150)]
    apart = [f"{name[0]} {name[1:]}" for name in chinese[::5]]
    words = ["Ilse", "Zoé", "Marek", "sol", "ماريك", "أحمد", "Борис", "Ann", "Jo"]
    western = [" ".join(rng.choices(words, k=k % 3 + 1)) for k in range(100)]
    thai = ["สมชาย", "สมชาย ใจดี", "山田太郎", "スズキハナコ"]
    mails = [f"{name}.{k}@example.org" for k, name in enumerate(["ilse", "sol", "marek", "_ann", "王伟"])]
    names = [*chinese, *apart, *western, *thai, *mails, "+212 6 11 22 33 44", "☺@☺"]
    people = KnownPeople(tuple(names), frozenset({"sol", "ilse"}), ("Marek Sol", "王伟"))
    pieces = [*names, *SURNAMES, *GIVEN, " ", " ", ", ", "-", "_", "a", "x7", "Person-hsjb", "0611223344", "ILSE", "é"]
    values = ["".join(rng.choices(pieces, k=rng.randrange(12))) for _ in range(400)]
    hits = [tuple(hit) for hit in people(Strings("a column", how, values))]
    expected = set(twin.found(people, Strings("a column", how, values)))
    assert set(hits) == expected
    assert len(expected) > 40
    nothing = ["Person-hsjb said", "说不来", ""] * 5
    assert not list(people(Strings("a column", how, nothing)))


def test_names_of_files_and_bytes(tmp_path):
    """The name of a file, and the bytes of one in no known format."""
    (tmp_path / "notes.bin").write_bytes(b"\xff\x00Ilse Varga\x00")
    with pytest.raises(Leak, match=r"notes\.bin"):
        audit(str(tmp_path), PEOPLE, dp.tools.Serial())
    (tmp_path / "notes.bin").unlink()
    (tmp_path / "Chat with Ilse Varga.txt").touch()
    with pytest.raises(Leak, match="names of files"):
        audit(str(tmp_path), PEOPLE, dp.tools.Serial())


def test_what_stays_by_rule_is_counted(tmp_path):
    """Common words, short names and the own name are counted; words of the program are not names."""
    parquet(tmp_path / "a", CLEAN)
    left = audit(str(tmp_path), PEOPLE, dp.tools.Serial())
    assert left == {"mama": 4, "jo": 4, "tomas orr": 4}
    write(".json", lambda text: json.dumps({"max_found": text, "name": "data/part-00000.parquet"}))(tmp_path / "b", "1")
    named = KnownPeople(("Text", "Role", "Person", "Max", "Data"))
    assert not audit(str(tmp_path), named, dp.tools.Serial())


def test_a_stage_that_brings_a_name_back_fails_the_run(tmp_path):
    """A column or a text made from what was hidden: no manifest is written, and the place is named."""
    data = [{"text": f"hi {i}", "chat": "a", "author": "Ilse Varga", "kind": "text"} for i in range(9)]
    docs = laws.dataset_of(tmp_path, data, strings=("chat", "author", "kind"))

    def again(text):
        return f"{text} of Ilse Varga" if "7" in text else text

    out = tmp_path / "out"
    with pytest.raises(Leak, match=r"data/part-0000\d-000\.parquet, column text"):
        dp.Pipeline(Pseudonyms(), dp.Map(again), dp.Exact()).run(docs, out=str(out))
    assert not os.path.exists(out / "manifest.json")
    with pytest.raises(Leak, match="ilse varga"):
        dp.Pipeline(Consent(refused=("Ilse Varga",)), dp.Map(again)).run(
            docs_of_two(tmp_path), out=str(tmp_path / "consent")
        )


def docs_of_two(folder):
    """Ilse, who refused, and Teo, who wrote more."""
    people = ("Ilse Varga", "Teo")
    data = [{"text": f"hi {i}", "chat": "a", "author": who, "kind": "text"} for i in (6, 7) for who in people]
    return laws.dataset_of(folder, data, strings=("chat", "author", "kind"))


def test_hashes_are_no_names():
    """The letters of a short name in a hash are no leak; the same letters next to digits in a text are."""
    people = KnownPeople(("A B",), prefixes="")
    rng = random.Random(1)
    hashes = ["".join(rng.choices("0123456789abcdef", k=32)) for _ in range(500)]
    hashes += [f"{one}-zstd" for one in hashes] + [f"sha256:{one}{one}" for one in hashes]
    assert not list(people(Strings("the JSON", CELL, hashes)))
    assert list(people(Strings("the JSON", CELL, [f"see {one}" for one in hashes])))
    assert list(people(Strings("the JSON", CELL, ["a b"])))
