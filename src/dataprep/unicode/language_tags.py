"""Language tags (BCP 47) with script and region, in both spellings: `ary-Latn` and `ary_Latn`.

A tag has a language of two or three letters (ISO 639), and may have a script of four letters (ISO 15924) and a region
of two letters or three digits. `fra` means `fr`. Case does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from dataprep.errors import PlanError

# The languages of ISO 639-1, with their codes of three letters in ISO 639-2 and 639-3.
_TWO = """
aa aar ab abk ae ave af afr ak aka am amh an arg ar ara as asm av ava ay aym az aze ba bak be bel bg bul bi bis bm bam
bn ben bo bod br bre bs bos ca cat ce che ch cha co cos cr cre cs ces cu chu cv chv cy cym da dan de deu dv div dz dzo
ee ewe el ell en eng eo epo es spa et est eu eus fa fas ff ful fi fin fj fij fo fao fr fra fy fry ga gle gd gla gl glg
gn grn gu guj gv glv ha hau he heb hi hin ho hmo hr hrv ht hat hu hun hy hye hz her ia ina id ind ie ile ig ibo ii iii
ik ipk io ido is isl it ita iu iku ja jpn jv jav ka kat kg kon ki kik kj kua kk kaz kl kal km khm kn kan ko kor kr kau
ks kas ku kur kv kom kw cor ky kir la lat lb ltz lg lug li lim ln lin lo lao lt lit lu lub lv lav mg mlg mh mah mi mri
mk mkd ml mal mn mon mr mar ms msa mt mlt my mya na nau nb nob nd nde ne nep ng ndo nl nld nn nno no nor nr nbl nv nav
ny nya oc oci oj oji om orm or ori os oss pa pan pi pli pl pol ps pus pt por qu que rm roh rn run ro ron ru rus rw kin
sa san sc srd sd snd se sme sg sag sh hbs si sin sk slk sl slv sm smo sn sna so som sq sqi sr srp ss ssw st sot su sun
sv swe sw swa ta tam te tel tg tgk th tha ti tir tk tuk tl tgl tn tsn to ton tr tur ts tso tt tat tw twi ty tah ug uig
uk ukr ur urd uz uzb ve ven vi vie vo vol wa wln wo wol xh xho yi yid yo yor za zha zh zho zu zul
"""
SHORT = dict(zip(_TWO.split()[1::2], _TWO.split()[::2], strict=True))
LONG = {two: three for three, two in SHORT.items()}
_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?")


class Tag(NamedTuple):
    """A language tag: language (shortest code, lower case), script such as "Latn" or "", and region or ""."""

    language: str
    script: str = ""
    region: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The tag with `-`, with `_`, and with `_` and three letters for the language: fr-Latn, fr_Latn, fra_Latn."""
        rest = [part for part in (self.script, self.region) if part]
        long = LONG.get(self.language, self.language)
        return tuple(dict.fromkeys(("-".join([self.language, *rest]), "_".join([self.language, *rest]),
                                    "_".join([long, *rest]), "-".join([long, *rest]))))  # fmt: skip


def parse_tag(text: str) -> Tag | None:
    """Return the parts of a language tag; None if the text is not one, or its two-letter language is not listed."""
    found = _TAG.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    language = SHORT.get(found[1].lower(), found[1].lower())
    if len(language) == 2 and language not in LONG:
        return None
    return Tag(language, (found[2] or "").title(), (found[3] or "").upper())


def tag_of(text: str, where: str, otherwise: str = "") -> Tag:
    """Return the parts of a language tag.

    - otherwise: the other texts that are allowed, for the message.

    Raises PlanError if `text` is not a language tag; the message begins with `where` and the text.
    """
    tag = parse_tag(text)
    if tag is None:
        msg = f"{where}{text!r} must be a language tag, such as 'fr', 'ary' or 'ary_Latn'{otherwise}"
        raise PlanError(msg)
    return tag


def known_as(text: str, names: Iterable[str]) -> str:
    """Return the name that is the same language tag as `text`, in any spelling; `text` if there is none."""
    known = list(names)
    tag = None if text in known else parse_tag(text)
    return text if tag is None else next((name for name in known if parse_tag(name) == tag), text)
