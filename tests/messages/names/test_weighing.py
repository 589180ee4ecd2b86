"""Words of names that the texts use as words are left; those that the texts use as names are not."""

from __future__ import annotations

import datetime as dt

import dataprep as dp
from dataprep.messages.names.stage import Pseudonyms

WORDS = {  # name of a contact: sentences that use a word of it as a word
    "Sara from the Gym": ["I come from the harbour", "the ferry is late", "from now on the tea is mine"],
    "Will Mayer": ["I will come", "it will rain", "will you?", "we will see"],
    "سعيد": ["انا سعيد جدا", "راني سعيد", "هو سعيد", "يوم سعيد"],
    "Rose Dufour": ["hello Rose", "and Rose said", "ask Rose", "a rose is a flower"],
}


def hidden(tmp_path, messages, **options):
    """The texts of (author, text) pairs after Pseudonyms."""
    now = dt.datetime(2024, 3, 1, 9)
    times = [f"{now + dt.timedelta(minutes=k):%d/%m/%Y, %H:%M}" for k in range(len(messages))]
    lines = [f"{time} - {who}: {said}" for time, (who, said) in zip(times, messages, strict=True)]
    (tmp_path / "WhatsApp Chat with Tea.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    docs = dp.read(str(tmp_path / "WhatsApp Chat with Tea.txt"))
    return dp.Pipeline(Pseudonyms(**options)).run(docs, out=str(tmp_path / "out")).table()["text"].to_pylist()


def test_a_word_is_weighed_by_its_uses(tmp_path):
    """In four scripts and ways of use: words stay, names go, and a full name goes in any case."""
    said = [text for texts in WORDS.values() for text in texts]
    people = [name for name in WORDS for _ in range(4)]
    full = [f"I saw {name} there" for name in WORDS]
    texts = hidden(
        tmp_path,
        [*zip(people, said, strict=False), *zip(WORDS, full, strict=True)],
        common_words=(),
        detect_common_words=True,
    )
    for before, after in zip(said, texts, strict=False):
        assert (before == after) == ("ose" not in before), after
    assert not any("Rose" in text for text in texts)
    for name, text in zip(WORDS, texts[-len(WORDS) :], strict=True):
        assert name not in text or name == "سعيد"


def test_a_dry_run_shows_what_costs_most_first(tmp_path, dataprep):
    """Words of names by their ordinary uses, then by all uses; a word that is always a name comes last."""
    said = [("Rose Dufour", f"a rose and a rose {k}") for k in range(5)]
    said += [("Baker Sol", f"the baker came, hi @Rose {k}") for k in range(3)]
    said += [("+49 176 4441 0293", "mine is +4917644410293")] * 4  # numbers are no words
    said += [*[("Tom", "ask Ilse, or Ilse, or Ilse")] * 9, ("Ilse", "me")]
    now = dt.datetime(2024, 3, 1, 9)
    lines = [f"{now + dt.timedelta(minutes=k):%d/%m/%Y, %H:%M} - {who}: {text}" for k, (who, text) in enumerate(said)]
    (tmp_path / "WhatsApp Chat with Tea.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "hide.py").write_text(
        "import dataprep as dp\n"
        "def hide(out, runner):\n"
        f"    docs = dp.read({str(tmp_path / 'WhatsApp Chat with Tea.txt')!r})\n"
        "    return dp.Pipeline(dp.chats.Pseudonyms(common_words=())).run(docs, out=out, runner=runner)\n"
    )
    code, table, err = dataprep("run", tmp_path / "hide.py", "--dry-run")
    assert code == 0, err
    rows = [line.split() for line in table.splitlines() if " word." in line]
    shown = [(row[1], row[2], row[-1]) for row in (line[line.index(".") :] for line in rows)]
    assert shown == [("word.rose,", "10", "13"), ("word.baker,", "3", "3"), ("word.ilse,", "0", "27")]


def test_words_that_are_given_stay(tmp_path):
    """A word in common= is left whatever its use, a name that no list has is replaced whatever its use."""
    said = [("Nora Bakery", "the bakery is open"), ("Nora Bakery", "nora came"), ("Ali", "bakery bakery bakery")] * 3
    texts = hidden(tmp_path, said, common_words=("bakery",), detect_common_words=True)
    assert texts[0] == "the bakery is open"
    assert "nora" not in texts[1]


def test_names_of_groups_are_names(tmp_path):
    """The name of the group becomes its pseudonym in texts, in any case and form; one common word is not a name."""
    texts = hidden(tmp_path, [("Ilse", "welcome to Tea"), ("Tom", "tea for all")])
    assert texts == ["welcome to Tea", "tea for all"]
    for number, group in enumerate(("Harbour Circle", "نادي القوارب", "Кружок чтения", "Fête d'été")):
        place = tmp_path / str(number)
        place.mkdir()
        said = [f"welcome to {group}!", f"{group.upper()} at nine", f"I like {group.replace(chr(32), chr(95))}"]
        said.append("the circle is late")
        path = place / f"WhatsApp Chat with {group}.txt"
        lines = [f"03/05/2024, 09:1{k} - {'ABC'[k % 3]}x: {text}\n" for k, text in enumerate(said)]
        path.write_text("".join(lines), encoding="utf-8")
        table = dp.Pipeline(Pseudonyms()).run(dp.read(str(path)), out=str(place / "out")).table()
        chat = table["chat"][0].as_py()
        assert table["text"].to_pylist() == [f"welcome to {chat}!", f"{chat} at nine", f"I like {chat}", said[-1]]
