"""Who has several names: on made folders, every proposal is right; what the user decides is kept."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
from collections import defaultdict

import pytest

import dataprep as dp
from dataprep.errors import Leak, PlanError
from dataprep.messages.names.matching import identity
from dataprep.messages.people.people_file import people_of, quoted, read_people_file
from dataprep.messages.people.propose import propose_people
from dataprep.store.key import key

FIRST = {  # Latin spellings: other script
    "Karim Kareem": "كريم", "Karima": "كريمة", "Kamal": "كمال", "Kamel": "كامل", "Hassan Hasan": "حسن",
    "Houcine Hussein": "حسين", "Said": "سعيد", "Saad": "سعد", "Amine Amin": "أمين", "Amina": "أمينة",
    "Imane Iman": "إيمان", "Aymen Ayman": "أيمن", "Sara": "سارة", "Samir": "سمير", "Samira": "سميرة",
    "Olga": "Ольга", "Oleg": "Олег", "Ivan": "Иван", "Ivana": "Ивана", "Eleni": "Ελένη", "Giorgos": "Γιώργος",
    "Dana": "דנה", "Dani": "דני", "Moshe": "משה", "Ilse": "", "Marek": "", "Zoé Zoe": "",
}  # fmt: skip
LAST = {
    "arabic": {"Benali Ben-Ali": "بنعلي", "Idrissi": "الإدريسي", "Alaoui": "العلوي", "Belkacem": "بلقاسم"},
    "cyrillic": {"Petrov": "Петров", "Sokolov": "Соколов"}, "greek": {"Pappas": "Παππάς", "Barkas": "Μπάρκας"},
    "hebrew": {"Levi Levy": "לוי", "Cohen": "כהן"}, "": {"Varga": "", "Lund": ""},
}  # fmt: skip
SAID = "ferry bridge cider walnut cake door morning tea rain chapter captain page".split()  # noqa: SIM905


def script(text):
    ranges = {"arabic": (0x600, 0x700), "cyrillic": (0x400, 0x500), "greek": (0x370, 0x400), "hebrew": (0x590, 0x600)}
    return next((name for name, (low, high) in ranges.items() if text and low <= ord(text[0]) < high), "")


def people_made(rng, n):
    """Return n different people, many with one first name or one last name: their full names and phone numbers."""
    found = []
    while len(found) < n:
        first, other = rng.choice(list(FIRST.items()))
        last, last_other = rng.choice(list(LAST[script(other)].items()))
        if all((first, last) != one["key"] for one in found):
            latin = [f"{a} {b.replace('-', ' ')}" for a in first.split() for b in last.split()]
            digits = f"{rng.randrange(600_000_000, 699_999_999)}"
            number = f"+212 {digits[0]} {digits[1:3]}\u00a0{digits[3:5]}-{digits[5:7]} {digits[7:]}"
            forms = [number, f"0{digits}", f"\u202a+212{digits}\u202c"]
            one = {"key": (first, last), "latin": latin, "first": first.split()[0], "phone": forms}
            found.append({**one, "other": [f"{other} {last_other}"] if other else []})
    return found


def named(rng, one, how):
    """Return a name of a person as an address book might have it."""
    if how == "other" and one["other"]:
        return rng.choice(one["other"])
    if how == "phone":
        return rng.choice(one["phone"])
    if how == "first":
        return one["first"]
    if how == "emoji":
        return f"{one['latin'][0].upper()} 🌻"
    return rng.choice(one["latin"])


def chat_made(rng, members, n=60):
    """Return n messages (time, person, text) of a chat."""
    now = dt.datetime(2024, rng.randrange(1, 12), rng.randrange(1, 28), 9)
    found = []
    for _ in range(n):
        now += dt.timedelta(minutes=rng.randrange(1, 9))
        found.append((now, rng.randrange(len(members)), " ".join(rng.choices(SAID, k=rng.randrange(1, 7)))))
    return found


def written(place, messages, names):
    place.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{time:%d/%m/%Y, %H:%M} - {names[who]}: {text}" for time, who, text in messages]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")


def folder_made(rng, root):
    """Write exports of several phones and accounts; return {name: the people who have it}."""
    people = people_made(rng, 24)
    truth = defaultdict(set)

    def written_as(members, hows):
        """Return a name per member, as one address book has them; it has no name twice."""
        names = [named(rng, people[who], rng.choice(hows)) for who in members]
        if len(set(map(identity, names))) < len(names):
            names = [people[who]["latin"][0] for who in members]
        for who, name in zip(members, names, strict=True):
            truth[identity(name)].add(who)
        return names

    for number in range(8):  # groups, each exported once or twice, by phones with other address books
        members = rng.sample(range(len(people)), rng.randrange(2, 6))
        messages = chat_made(rng, members)
        for export in range(rng.randrange(1, 3)):
            names = written_as(members, ["latin", "latin", "other", "phone", "first", "emoji"])
            place = root / f"{number}-{export}" / f"WhatsApp Chat with Group {number}.txt"
            written(place, messages[rng.randrange(0, 20) :], names)
    for number in range(2):  # accounts: ids stay, names change
        members = rng.sample(range(len(people)), 4)
        ids = {who: f"user{1_000 + who}" for who in members}
        for export in range(2):
            names = written_as(members, ["latin", "other", "first", "emoji"])
            rows = [
                {"id": k, "type": "message", "date": f"{time:%Y-%m-%dT%H:%M:%S}", "from": names[who],
                 "from_id": ids[members[who]], "text": text}
                for k, (time, who, text) in enumerate(chat_made(rng, members, 30))
            ]  # fmt: skip
            chat = {"name": f"Circle {number}", "type": "private_group", "id": number, "messages": rows}
            place = root / f"telegram-{number}-{export}" / "result.json"
            place.parent.mkdir(parents=True)
            place.write_text(json.dumps(chat, ensure_ascii=False), encoding="utf-8")
    cards = []
    for who in rng.sample(range(len(people)), 10):
        name = named(rng, people[who], rng.choice(["latin", "other"]))
        cards.append((name, people[who]["phone"][0]))
    cards.append((named(rng, people[0], "latin"), people[1]["phone"][0]))  # a number that two share
    cards.append((named(rng, people[1], "latin"), people[1]["phone"][0]))
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:{}\nTEL;TYPE=CELL:{}\nEND:VCARD\n"
    (root / "contacts.vcf").write_text("".join(card.format(*one) for one in cards), encoding="utf-8")
    return truth


def pairs_of(groups):
    return {frozenset(pair) for group in groups for pair in itertools.combinations(sorted(set(group)), 2)}


def judged(seed, root):
    """Return (right pairs, wrong pairs, pairs that exist) of the proposal for a made folder."""
    truth = folder_made(random.Random(seed), root)
    made = propose_people(str(root), str(root.parent / f"{seed}.toml"))
    found = pairs_of(map(identity, names) for names in made.people)
    alone = {name: next(iter(who)) for name, who in truth.items() if len(who) == 1}
    exist = {frozenset(pair) for pair in itertools.combinations(sorted(alone), 2) if len({alone[n] for n in pair}) == 1}
    return found & exist, found - exist, exist


def test_every_proposal_is_right(tmp_path):
    """Of many people with one first or last name, with shared numbers and renamed contacts, none is mistaken."""
    right, wrong, exist = zip(*(judged(seed, tmp_path / str(seed) / "exports") for seed in range(3)), strict=True)
    assert [sorted(pair) for pairs in wrong for pair in pairs] == []
    assert sum(map(len, right)) >= 0.55 * sum(map(len, exist))


def renamed_contact(root, chat=None):
    """Write two exports of one chat; between them the contact got another name, and they share 200 messages."""
    rng = random.Random(5)
    messages = chat_made(rng, [0, 1], 300)
    for name, contact, part in (("1", "كريم بنعلي", messages[:250]), ("2", "Karim Benali", messages[50:])):
        written(root / name / f"WhatsApp Chat with {chat or contact}.txt", part, ["Ilse Varga", contact])
    return [text for _, _, text in messages]


def test_a_renamed_contact_is_one_person(tmp_path, caplog):
    """Overlaps drops all copies, dp.chats.read has each message once, and one chat, when the people are known."""
    said = renamed_contact(tmp_path / "exports")
    docs = dp.read(str(tmp_path / "exports"))
    file = str(tmp_path / "people.toml")
    made = propose_people(str(tmp_path / "exports"), file)
    assert made.people == (("Karim Benali", "كريم بنعلي"),)
    for people, left in ((None, False), (file, True)):
        rows = dp.chats.read(str(tmp_path / "exports"), people=people).to_pylist()
        assert (len(rows) == 300) is left
        sealed = dp.Pipeline(dp.chats.Overlaps(people=people)).run(docs, out=str(tmp_path / f"out-{left}"))
        assert (sealed.count == 300) is left
    assert [r["text"] for r in rows] == said
    assert {r["author"] for r in rows} == {"Ilse Varga", "Karim Benali"}
    assert {r["chat"] for r in rows} == {"Karim Benali"}
    assert "كريم" not in repr(dp.chats.Overlaps(people=file))


def test_one_person_has_one_pseudonym(tmp_path):
    """Author, texts, mentions and the chat of a person have one pseudonym; other people keep theirs."""
    renamed_contact(tmp_path / "exports")
    more = tmp_path / "exports" / "3" / "WhatsApp Chat with Club.txt"
    names = ["Ilse Varga", "+212 6 12 34 56 78", "Marek Lund"]
    texts = ["Karim or كريم, @\u2068Kimo\u2069", "call 0612345678", "Marek"]
    written(more, [(dt.datetime(2024, 1, 30, 9, k), k, text) for k, text in enumerate(texts)], names)
    file = tmp_path / "people.toml"
    person = '[[person]]\nnames = ["Karim Benali", "كريم بنعلي", "+212 612-345678", "Kimo"]\n'
    file.write_text(person, encoding="utf-8")
    hidden = dp.chats.Pseudonyms(key=b"a key of enough bytes", people=str(file), common_words=())
    docs, out = dp.read(str(tmp_path / "exports")), str(tmp_path / "out")
    table = dp.Pipeline(dp.chats.Overlaps(people=str(file)), hidden).run(docs, out=out).table()
    of = defaultdict(set)
    for chat, author in zip(table["chat"].to_pylist(), table["author"].to_pylist(), strict=True):
        of[chat].add(author)
    direct, club = sorted(of, key=lambda chat: len(of[chat]))
    found = [row["text"] for row in table.to_pylist() if row["chat"] == club]
    both = of[direct]
    assert len(both) == 2
    assert both <= of[club]
    one = found[0].split()[0]
    assert one in both
    assert found == [f"{one} or {one}, @{one}", f"call {one}", next(iter(of[club] - both))]
    assert hidden.recipe() != dp.chats.Pseudonyms(key=b"a key of enough bytes", common_words=()).recipe()


def test_the_file_is_part_of_keys_and_of_the_audit(tmp_path):
    """An edit of the file changes the key of each stage, its path does not; a name that only the file has is a leak."""
    renamed_contact(tmp_path / "exports")
    places = [tmp_path / name for name in ("a.toml", "b.toml", "c.toml")]
    for place, more in zip(places, ("Kimo Zahid", "Kimo Zahid", "Kimo Rahal"), strict=True):
        place.write_text(f'[[person]]\nnames = ["Karim Benali", "كريم بنعلي", "{more}"]\n', encoding="utf-8")
    for stage in (
        dp.chats.Overlaps,
        dp.chats.Pseudonyms,
        lambda people: dp.chats.Consent(refused=["Karim Benali"], people=people),
    ):
        one, same, other = (key(stage(people=str(place))) for place in places)
        assert one == same != other

    def back(text: str) -> str:
        return f"{text} Kimo Zahid"

    docs = dp.read(str(tmp_path / "exports"))
    with pytest.raises(Leak, match="kimo zahid"):
        dp.Pipeline(dp.chats.Pseudonyms(people=str(places[0])), dp.Map(back)).run(docs, out=str(tmp_path / "out"))


def test_refused_under_any_name(tmp_path):
    """Consent drops the messages of a person under all names if one of them is listed; allowed keeps them all."""
    renamed_contact(tmp_path / "exports", "Tea")
    docs = dp.read(str(tmp_path / "exports"))
    file = tmp_path / "people.toml"
    file.write_text('[[person]]\nnames = ["Karim Benali", "كريم بنعلي", "Kimo"]\n', encoding="utf-8")
    for how, left in (("refused", {"Ilse Varga"}), ("allowed", {"Karim Benali", "كريم بنعلي"})):
        consent = dp.chats.Consent(**{how: ["Kimo"]}, people=str(file))
        sealed = dp.Pipeline(consent).run(docs, out=str(tmp_path / how))
        assert set(sealed.table()["author"].to_pylist()) == left
    with pytest.raises(PlanError, match="not authors: 'Kimo'"):
        dp.Pipeline(dp.chats.Consent(refused=["Kimo"])).run(docs, out=str(tmp_path / "alone"))
    hidden = dp.chats.Pseudonyms(people=str(file), consent=dp.chats.Consent(refused=["Kimo"]))
    sealed = dp.Pipeline(hidden).run(docs, out=str(tmp_path / "both"))
    assert len(set(sealed.table()["author"].to_pylist())) == 1


def test_the_file_is_kept(tmp_path):
    """A file is not replaced unasked; what the user wrote, took out and rejected is kept when it is proposed again."""
    exports, file = tmp_path / "exports", tmp_path / "people.toml"
    folder_made(random.Random(2), exports)
    propose_people(str(exports), str(file))
    with pytest.raises(PlanError, match=r"people\.toml exists; use --replace"):
        propose_people(str(exports), str(file))
    before = file.read_text(encoding="utf-8")
    assert propose_people(str(exports), str(file), replace=True).new == 0
    assert file.read_text(encoding="utf-8") == before
    old = read_people_file(str(file))
    line, wide = next((line, names) for line, names in old.persons if len(names) > 2)
    no, yes = old.maybes[0][1], old.maybes[1][1]
    lines = before.splitlines()
    lines[line] = lines[line].replace(f", {quoted(wide[-1])}]", ', "My Own"]')
    text = "\n".join(lines).replace("\n[[maybe]]", "\n[[apart]]", 1)
    text = text.replace("\n[[maybe]]", "\n# a cousin\n[[same]]", 1)
    file.write_text(text, encoding="utf-8")
    people = propose_people(str(exports), str(file), replace=True).people
    assert any({*wide[:-1], "My Own"} <= {*names} for names in people)
    assert not any({wide[0], wide[-1]} <= {*names} for names in people)
    assert not any({*no} <= {*names} for names in people)
    assert "# a cousin\n[[same]]" in file.read_text(encoding="utf-8")
    known = people_of(str(file))
    assert known.name_of(yes[0]) == known.name_of(yes[1])
    assert known.name_of(wide[0]) == known.name_of("my own") != known.name_of(wide[-1])
    again = file.read_text(encoding="utf-8")
    propose_people(str(exports), str(file), replace=True)
    assert file.read_text(encoding="utf-8") == again


def test_a_file_with_no_proposal_is_a_people_file(tmp_path, caplog):
    """What `dataprep people` writes about people with one name each can be given to all stages."""
    chat, file = tmp_path / "chat.txt", tmp_path / "people.toml"
    lines = [f"03/05/2024, 09:1{i} - {who}: hello" for i, who in enumerate(("Orsolya Quist", "Tibor Halvane"))]
    chat.write_text("\n".join(lines), encoding="utf-8")
    assert not propose_people(str(chat), str(file)).people
    assert not people_of(str(file))
    assert f"{file} has no [[person]], so every name is treated as a different person" in caplog.text


BAD = {
    "empty": ("# nobody\n", "has no [[person]]"),
    "not TOML": ("[[person]]\nnames = [\n", "is not a people file: "),
    "no names": ('[[person]]\nnames = ["A B"]\n[[person]]\nnames = []\n', "line 3 of {}: a [[person]] has no names"),
    "a number": ("[[person]]\nnames = [7]\n", "line 1 of {}: a [[person]] has no names"),
    "another key": ('[[person]]\nname = "A"\n', "line 1 of {}: 'name' must be names or why"),
    "another section": ('[[people]]\nnames = ["A"]\n', "line 1 of {}: 'people' must be person, same, apart or maybe"),
    "one table": ('[person]\nnames = ["A"]\n', "line 1 of {}: person must be a list of entries"),
    "apart alone": ('[[apart]]\nnames = ["A"]\n', "must have two names or more"),
    "twice": (
        '[[person]]\nnames = ["A B"]\n\n[[person]]\nnames = ["C", "a  B"]\n',
        "line 4 of {}: 'a  B' is a name of two people: this one and the one in line 1",
    ),
    "a number twice": (
        '[[person]]\nnames = ["A", "+212 612345678"]\n[[person]]\nnames = ["C", "+212 (0) 6 12 34 56 78"]\n',
        "line 3 of {}: '+212 (0) 6 12 34 56 78' is a name of two people",
    ),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_file(case, tmp_path):
    """A file that is not valid is one sentence, with the line and the name."""
    text, said = BAD[case]
    file = tmp_path / "people.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError) as e:
        people_of(str(file))
    assert said.format(file) in str(e.value)


def test_a_person_whom_nobody_knows(tmp_path):
    """An entry that fits no author, mention or chat stops Pseudonyms, and shows the nearest names."""
    renamed_contact(tmp_path / "exports")
    file = tmp_path / "people.toml"
    file.write_text('[[person]]\nnames = ["Karim Benai", "Kimo"]\n', encoding="utf-8")
    docs = dp.read(str(tmp_path / "exports"))
    with pytest.raises(PlanError, match=r"line 1 of .*'Karim Benai' / 'Kimo' is not .* names are 'Karim Benali'"):
        dp.Pipeline(dp.chats.Pseudonyms(people=str(file))).run(docs, out=str(tmp_path / "out"))


def test_the_command(dataprep, tmp_path):
    """`dataprep people` writes the file and prints who is who; `persona` takes it, and --person more than once."""
    renamed_contact(tmp_path / "exports")
    file = tmp_path / "people.toml"
    code, said, _ = dataprep("people", tmp_path / "exports", "-o", file)
    assert code == 0
    assert "Karim Benali = كريم بنعلي" in said
    assert "1 person has several names: 1 new" in said
    code, _, error = dataprep("people", tmp_path / "exports", "-o", file)
    assert code == 1
    assert "--replace" in error
    out = tmp_path / "out"
    options = ("--out", out, "--vocab-size", 400, "--max-length", 128)
    code, said, error = dataprep("persona", tmp_path / "exports", "--person", "كريم بنعلي", "--people", file, *options)
    assert (code, error) == (0, "")
    with_file = said.partition(" answers")[0].split()[-1]
    words = next(line for line in said.splitlines() if "words are learned" in line)
    code, said, _ = dataprep(
        "persona",
        tmp_path / "exports",
        "--person",
        "كريم بنعلي",
        "--person",
        "Karim Benali",
        *options[2:],
        "--out",
        f"{out}-2",
    )
    assert code == 0
    assert said.partition(" answers")[0].split()[-1] == with_file
    assert next(line for line in said.splitlines() if "words are learned" in line) == words
    code, _, error = dataprep("persona", tmp_path / "exports", "--person", "Kimo", "--people", file, *options)
    assert code == 1
    assert "--person 'Kimo' must be the name of an author" in error


@pytest.mark.parametrize("told", ["one", "many"])
def test_people_who_got_the_same_greetings_are_two(told, tmp_path):
    """Two people in two chats who send the same greetings in the same minutes are not proposed as one."""
    for contact in ("Ann Lee", "Bob Ray"):
        lines = []
        for k, greeting in enumerate(("Eid Mubarak", "Happy new year", "Good Friday", "Merry Christmas", "Good luck")):
            answer = "thanks" if told == "one" else f"thanks, {contact}"
            lines += [f"13/05/2024, 1{k}:00 - {contact}: {greeting}\n", f"13/05/2024, 1{k}:0{k} - Mae Holt: {answer}\n"]
            lines += [f"13/05/2024, 1{k}:30 - {contact}: {contact} {k}\n"]
        (tmp_path / f"WhatsApp Chat with {contact}.txt").write_text("".join(lines))
    made = propose_people(str(tmp_path), str(tmp_path / "people.toml"))
    assert (made.people, made.maybes) == ((), 0)


def test_a_number_without_its_code_is_the_whole_national_number(tmp_path):
    """+33 6 12 34 56 78 and 06 12 34 56 78 are one; 1234 5678, its last digits, is somebody else's number."""
    for k, name in enumerate(("+33 6 12 34 56 78", "1234 5678", "06 12 34 56 78")):
        (tmp_path / f"WhatsApp Chat with {k}.txt").write_text(f"13/05/2024, 1{k}:00 - {name}: I am number {k}\n")
    made = propose_people(str(tmp_path), str(tmp_path / "people.toml"))
    assert made.people == (("+33 6 12 34 56 78", "06 12 34 56 78"),)
