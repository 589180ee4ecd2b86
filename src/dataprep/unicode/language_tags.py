"""Language tags (BCP 47) with script and region, in both spellings: `ary-Latn` and `ary_Latn`.

A tag has a language of two or three letters, and may have a script of four letters, a region of two letters or three
digits, and variants and extensions, which are ignored. All subtags must be registered; `languages.txt`, which
scripts/make_languages.py writes, lists them. `fra` means `fr`, and `arb` (Standard Arabic) means `ar`. The usual script
of a language may be left out: `fra_Latn` means `fr`. Case does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
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
_TAG = re.compile(
    r"([A-Za-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|[0-9]{3}))?"
    r"((?:[-_](?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*)(?:[-_][A-Za-z0-9](?:[-_][A-Za-z0-9]{2,8})+)*"
)


@cache
def _registry() -> dict[str, frozenset[str]]:
    """Return the registered subtags by kind, and the languages that are usually written in each script."""
    text = resources.files(__package__).joinpath("languages.txt").read_text("utf-8").replace("\n ", " ")
    lines = [line.split(": ", 1) for line in text.splitlines()[1:]]
    return {kind: frozenset(some.split()) for kind, some in lines if kind != "replaced"}


@cache
def _replaced() -> dict[str, str]:
    """Return the language that replaces each of some languages: `iw` is now `he`, `arb` is the main form of `ar`."""
    text = resources.files(__package__).joinpath("languages.txt").read_text("utf-8").replace("\n ", " ")
    some = next(line.split()[1:] for line in text.splitlines() if line.startswith("replaced: "))
    return dict(zip(some[::2], some[1::2], strict=True))


class Tag(NamedTuple):
    """A language tag.

    Attributes:
        language: its shortest code, in lower case.
        script: such as "Latn"; "" if it is the usual one of the language, or not known.
        region: such as "MA", or "".
    """

    language: str
    script: str = ""
    region: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The tag with `-` and `_`, with each code of its language, with and without its usual script.

        The first ones are fr, fr_Latn, fra and fra_Latn for French.
        """
        codes = (self.language, LONG.get(self.language, self.language),
                 *sorted(old for old, new in _replaced().items() if new == self.language))  # fmt: skip
        usual = [kind for kind, some in _registry().items() if kind[0].isupper() and self.language in some]
        usual += ["Hani"] if "Hans" in usual or "Hant" in usual else []
        scripts = [self.script] if self.script else ["", *usual]
        some = [[part for part in (code, script, self.region) if part] for code in codes for script in scripts]
        return tuple(dict.fromkeys(sign.join(parts) for sign in "_-" for parts in some))


def parse_tag(text: str) -> Tag | None:
    """Return the parts of a language tag; None if the text is not one, or has a part that is not registered."""
    found = _TAG.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    known = _registry()
    language = SHORT.get(found[1].lower(), found[1].lower())
    script, region = (found[2] or "").title(), (found[3] or "").upper()
    given = {"language": language, "script": script, "region": region}
    if any(part and part not in known[kind] for kind, part in given.items()):
        return None
    if not known["variant"].issuperset(re.findall("[a-z0-9]+", found[4].lower())):
        return None
    language = _replaced().get(language, language)
    some = (*known["Hans"], *known["Hant"]) if script == "Hani" else known.get(script, ())  # Hani: cmn_Hani is zh
    is_usual = language in some
    return Tag(language, "" if is_usual else script, region)


def tag_of(text: str, where: str, otherwise: str = "") -> Tag:
    """Return the parts of a language tag.

    - otherwise: the other texts that are allowed, for the message.

    Raises PlanError if `text` is not a language tag; the message begins with `where` and the text.
    """
    tag = parse_tag(text)
    if tag is None:
        msg = f"{where}{text!r} must be a registered language tag, such as 'fr', 'ary' or 'ary_Latn'{otherwise}"
        raise PlanError(msg)
    return tag


def known_as(text: str, names: Iterable[str]) -> str:
    """Return the name that is the same language tag as `text`, in any spelling; `text` if there is none.

    A name without a region is the same as one with a region, unless a name has this region.
    """
    known = list(names)
    tag = None if text in known else parse_tag(text)
    if tag is None:
        return text
    tags = {parse_tag(name): name for name in reversed(known)}
    return tags.get(tag) or tags.get(tag._replace(region="")) or text
