"""Names with endings and particles that are written without a space."""

from __future__ import annotations

import pytest

from dataprep.messages.names.endings import with_endings
from dataprep.messages.names.terms import AUTHOR, terms_of

from .test_names import pseudonymised

FORMS = {
    "Дмитрий Соколов": ["Дмитрия", "Дмитрию", "Соколова", "Соколовым", "Соколову"],
    "Оля Журавлёва": ["Оле", "Олю", "Журавлёвой", "Журавлеву", "Журавлёвых"],
    "Фёдор Достоевский": ["Фёдору", "Достоевского", "Достоевским"],
    "Γιώργος Νικολαΐδης": ["Γιώργου", "Γιώργο", "ΓΙΩΡΓΟΣ", "Νικολαΐδη"],
    "Ελένη Ψαρρού": ["Ελένης"],
    "ნინო ბერიძე": ["ნინოს", "ნინომ", "ნინოსთან", "ბერიძის", "ბერიძემ"],
    "Արամ Պետրոսյան": ["Արամը", "Արամի", "Արամին", "Պետրոսյանից"],
    "முருகன் கார்த்திகா": ["முருகனுக்கு", "முருகனை", "கார்த்திகாவை"],
    "प्रियंका शर्मा": ["प्रियंकाजी", "प्रियंकाको", "शर्माने"],
    "অনিন্দিতা চক্রবর্তী": ["অনিন্দিতাকে", "চক্রবর্তীর"],
    "አበበ ቢቂላ": ["አበበን", "የአበበ", "ለአበበም"],
    "زهرة العلوي": ["يازهرة"],
    "Siobhán O'Rourke": ["SiobhánO'Rourke", "\\nSiobhán", "\\tO'Rourke", "RourkeSiobhán", "Siobhánʼs"],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_name_with_an_ending_is_its_person(tmp_path, name):
    """Each form becomes the pseudonym of the author, also with digits behind it."""
    texts = [text for form in FORMS[name] for text in (f"({form})", f"x {form}12")]
    rows = [("a chat", name, text) for text in texts]
    left, _ = pseudonymised(rows, tmp_path)
    assert [text for _, author, text in left if author not in text] == []
    assert [text for _, _, text in left for form in FORMS[name] if form.strip("\\nt") in text] == []


def test_words_and_names_of_others_are_no_forms():
    """Another person's name and a frequent word mean what they are; Latin names have no forms."""
    names = ("Александр", "Александра", "Том", "Ilse", "Вера")
    terms = terms_of([(AUTHOR, "", name) for name in names], 3, frozenset({"вера"}))
    assert terms["александра"].persons == {"александра"}
    assert terms["александру"].persons == {"александр", "александра"}
    assert {"тому", "ilses", "веру", "вере"} & set(terms) == set()
    assert with_endings("ilse") == with_endings("王小明") == frozenset()
