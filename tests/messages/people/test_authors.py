"""Names given for a person: those under which nobody wrote are said."""

from __future__ import annotations

from dataprep.messages.people.authors import not_written
from dataprep.messages.people.identities import Identities


def test_names_under_which_nobody_wrote() -> None:
    """Other spellings of a name, and names of the people file, are known."""
    stated = Identities((("Ilse Varga", "Ily"),))
    assert not_written(("ilse VARGA", "Ily", "Tom", "Ilsa"), ("Ilse Varga", "Tom"), stated) == ("Ilsa",)
