"""The charset of a page: pages in many charsets, under headers and metas that are right, wrong or missing."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataprep.read.charsets import bare
from dataprep.read.charsets.decide import characters
from dataprep.read.charsets.garbled import _GARBLED, garbled, places_of
from dataprep.read.charsets.ranked import ranked
from dataprep.read.charsets.units import is_binary
from twins import page as twin

NEWS = {
    "ar": "كانت المدينة القديمة هادئة في الصباح، وكان الناس يذهبون إلى السوق"
    " لشراء الخبز والخضر. قال الرجل إن الطريق طويل.",
    "ru": "Утром старый город был тихим, и люди шли на рынок за хлебом."
    " Мужчина сказал, что дорога длинная, но красивая.",
    "el": "Το πρωί η παλιά πόλη ήταν ήσυχη και οι άνθρωποι πήγαιναν στην"
    " αγορά για ψωμί. Ο δρόμος είναι μακρύς αλλά όμορφος.",
    "ja": "朝の古い町は静かで、人々はパンと野菜を買いに市場へ行きました。"
    "男は道が長いけれど美しいと言って、窓のそばに座りました。",
    "zh": "早上老城很安静，人们去市场买面包和蔬菜。那个男人说路很长但是很美，然后坐在窗边读一本关于国家历史的书。",
    "tw": "早上老城很安靜，人們去市場買麵包和蔬菜。那個男人說路很長但是很美，然後坐在窗邊讀一本關於國家歷史的書。",
    "th": "ตอนเช้าเมืองเก่าเงียบสงบ ผู้คนเดินไปตลาดเพื่อซื้อขนมปังและผัก ชายคนนั้นบอกว่าถนนยาวแต่สวยงาม",
    "he": "בבוקר העיר העתיקה הייתה שקטה והאנשים הלכו לשוק לקנות לחם וירקות. האיש אמר שהדרך ארוכה אבל יפה.",
    "tr": "Sabahleyin eski şehir sessizdi ve insanlar ekmek için çarşıya"
    " gidiyordu. Işık yavaş yavaş azaldı, ağaçlar sallandı.",
    "fr": "Le matin, la vieille ville était calme et les gens allaient au"
    " marché, où l'été s'achève déjà à l'ombre des chênes.",
    "de": "Am Morgen war die alte Stadt ruhig, die Leute kauften Brot und"
    " Gemüse. Die Straße gehört Käthe, schön für Jürgen.",
    "pt": "A situação da educação e a organização das informações são questões"
    " da administração e da população; não há soluções.",
    "ko": "아침에 오래된 도시는 조용했고 사람들은 빵과 채소를 사러 시장에 갔다. 남자는 길이 멀지만 아름답다고 말했다.",
    "uk": "Вранці старе місто було тихим, і люди йшли на ринок по хліб та їжу. Її ґанок був гарний, сказав чоловік.",
    "is": "Um morguninn var gamli bærinn kyrr og fólkið fór á markaðinn að"
    " kaupa brauð og grænmeti. Það er gott að búa hér.",
}
CHARSETS = {
    "ar": ["windows-1256", "iso-8859-6"], "ru": ["windows-1251", "koi8-r", "iso-8859-5"],
    "el": ["iso-8859-7", "windows-1253"], "ja": ["shift_jis", "euc-jp"], "zh": ["gb18030", "gb2312"], "tw": ["big5"],
    "ko": ["euc-kr"], "uk": ["koi8-u", "windows-1251"],
    "th": ["windows-874"], "he": ["windows-1255"], "tr": ["windows-1254", "iso-8859-9"],
    "fr": ["iso-8859-1", "windows-1252"], "de": ["iso-8859-1"], "pt": ["iso-8859-1"], "is": ["iso-8859-1"],
}  # fmt: skip
CODECS = {"windows-874": "cp874", "gb2312": "gb18030"}
EVIDENCE = {  # (header, meta), None: the right one
    "default header, right meta": ("ISO-8859-1", None), "right header": (None, ""), "right meta": ("", None),
    "both right": (None, None), "default header alone": ("ISO-8859-1", ""), "default meta alone": ("", "iso-8859-1"),
    "right header, default meta": (None, "iso-8859-1"), "nothing": ("", ""),
}  # fmt: skip
PAGE = (
    "<html><head>{meta}<title>{title}</title></head><body class='x'><div><a href='/en'>Home</a> | Login</div>"
    "<h1>{title}</h1><p>{text}</p><script>var x = 1;</script><p>Copyright 2024 Example Ltd.</p></body></html>"
)


def accuracy(header, meta) -> dict[str, float]:
    """The share of pages of each charset, of 1 to 3 sentences' length, that become the characters they were made of."""
    found = {}
    for language, names in CHARSETS.items():
        for name in names:
            right = []
            for n in (40, 80, 120):
                text = NEWS[language][:n]
                tag = name if meta is None else meta
                page = PAGE.format(meta=f"<meta charset='{tag}'>" if tag else "", title=text[:20], text=text)
                data = page.encode(CODECS.get(name, name))
                right.append(characters(data, name if header is None else header, is_html=True)[0] == page)
            found[f"{language} {name}"] = sum(right) / len(right)
    return found


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_accuracy(evidence, capsys) -> None:
    """Where header or meta is right, every page is; where both are silent or the server's default, nearly every one."""
    found = accuracy(*EVIDENCE[evidence])
    wrong = {name: round(share, 2) for name, share in found.items() if share < 1}
    with capsys.disabled():
        mean = sum(found.values()) / len(found)
        sys.stdout.write(f"\n{evidence}: {mean:.1%} of pages right; below 100 %: {wrong or 'none'}\n")
    if "right" in evidence:
        assert not wrong
    else:
        assert sum(found.values()) / len(found) >= 0.9
    latin = {name for name in wrong if name[:2] in {"fr", "de", "pt", "is"}}
    assert not latin or evidence == "nothing"


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", ["", "utf-8", "ISO-8859-1", "utf-16"])
def test_utf16(codec, declared) -> None:
    """UTF-16 is told by its byte order mark or by its zeros, whatever header and meta say."""
    for text in NEWS.values():
        for meta in ("", "<meta charset='utf-8'>", "<meta charset='iso-8859-1'>"):
            page = PAGE.format(meta=meta, title=text[:20], text=text)
            assert characters(page.encode(codec), declared, is_html=True)[0] == page
    assert not is_binary("plain text without marks".encode(codec))


def test_few_bytes_are_not_korean() -> None:
    """Letters of Latin pages whose bytes are Hangul syllables by chance are not read as such."""
    texts = {"cp1252": "Âge, À la carte, Âme", "cp1250": "żółta łódka, dąb, żaba, ślad", "cp1257": "Šalis ąžuolų"}
    for codec, text in texts.items():
        for n in (1, 20):
            data = (f"<p>{text} and more words </p>" * n).encode(codec)
            assert characters(data, "", is_html=True)[1] != "cp949"


@pytest.mark.parametrize("language", NEWS)
def test_nearly_utf8(language) -> None:
    """A UTF-8 page with a broken character is UTF-8 under the server's default too; a Latin-1 page is not."""
    data = NEWS[language].encode() * 3 + b" \xe9"
    assert characters(data, "ISO-8859-1", is_html=True)[:2] == (NEWS[language] * 3 + " \ufffd", "utf-8")
    assert characters(b"plain words " * 50 + b"caf\xe9", "ISO-8859-1", is_html=True)[1] == "cp1252"


def test_agreement() -> None:
    """The share of the evidence that names the charset: all, two of three, one of two; UTF-8 needs none."""
    data = NEWS["ru"].encode("cp1251")
    tag = b"<meta charset=windows-1251>"
    assert characters(tag + data, "windows-1251", is_html=True)[2] == 1
    assert characters(tag + data, "ISO-8859-1", is_html=True)[2] == 0.67
    assert characters(data, "ISO-8859-1", is_html=True)[1:] == ("cp1251", 0.5, 0)
    assert characters(NEWS["ru"].encode(), "ISO-8859-1", is_html=True)[1:] == ("utf-8", 1.0, 0)


WRONG = {"ar": ["windows-1251", "koi8-r"], "ru": ["windows-1256", "iso-8859-7"], "el": ["windows-1251", "koi8-r"]}
POLISH = "Ministerstwo ogłosiło dziś rozpoczęcie zapisów. Liczba uczniów wzrosła, więc są źli na samą myśl o tym."


@pytest.mark.parametrize("language", WRONG)
def test_wrong_claims(language) -> None:
    """A header or meta of another script does not win against the detector if the words it makes are garbled."""
    text = NEWS[language]
    for name in CHARSETS[language]:
        for wrong in WRONG[language] if name.startswith("windows") else []:
            for header, meta in ((wrong, ""), ("", wrong), ("ISO-8859-1", wrong), (wrong, wrong), (wrong, name)):
                page = PAGE.format(meta=f"<meta charset='{meta}'>" if meta else "", title=text[:20], text=text)
                assert characters(page.encode(name), header, is_html=True)[0] == page


@pytest.mark.parametrize("name", ["iso8859-2", "cp1250"])
@pytest.mark.parametrize("claim", ["", "ISO-8859-1", "utf-8"])
def test_two_charsets_of_polish(name, claim) -> None:
    """The letters in which ISO-8859-2 and Windows-1250 differ decide which of them it is."""
    for header, meta in ((claim, ""), ("", claim), (claim, claim)):
        page = PAGE.format(meta=f"<meta charset='{meta}'>" if meta else "", title=POLISH[:20], text=POLISH)
        assert characters(page.encode(name), header, is_html=True)[0] == page


TURKISH = "Çocuklar ırmağın kıyısında taş toplayıp birbirlerine gösteriyordu. Güneş batarken dağlar kızardı."
FOREST = "Les élèves très émus s'arrêtèrent près de la forêt, derrière l'église."


def test_turkish_pages_that_claim_latin_twice() -> None:
    """Turkish letters win against a header and a meta of Latin-1; an Icelandic name in a German page does not."""
    tag = "<meta charset='iso-8859-1'>"
    for text, name in ((TURKISH, "cp1254"), ("Die Straße nach Þórshöfn führt übers Gebirge. " * 3, "cp1252")):
        assert characters((tag + text).encode(name), "ISO-8859-1", is_html=True)[0] == tag + text


def test_latin_text_that_is_garbled_as_named() -> None:
    """If the text is garbled in each Latin charset that is named, others are tried."""
    for text, name in ((POLISH, "cp1250"), (POLISH, "iso8859-2"), (FOREST, "mac-roman")):
        for found in ("big5hkscs", "utf-8", "cp1252"):
            assert ranked(text.encode(name), ["cp1252", "utf-8", ""], found)[0] == name


def test_garbled() -> None:
    """No text is garbled in its own charset; in those of other scripts with single bytes, it is."""
    for language, names in CHARSETS.items():
        text = NEWS[language] + " GROẞE Straße ΑΒΓ café n° 5 – 3½ µm ± 2"
        for name in names:
            codec = CODECS.get(name, name)
            assert not garbled(text.encode(codec, "ignore"), [codec])
    assert garbled(NEWS["ar"].encode("cp1256"), ["cp1251"])
    assert garbled(NEWS["th"].encode("cp874"), ["koi8-r"])
    assert garbled(POLISH.encode("iso8859-2"), ["cp1252", "iso8859-2"]) == {"cp1252"}
    assert not garbled("<script>éAéAéAéA</script> été déjà là".encode("cp1252"), ["cp1252"])


def test_garbled_places() -> None:
    """What is skipped of ASCII holds no place and divides none."""
    draw = random.Random(1)
    for _ in range(5_000):
        text = "".join(draw.choices("aZz ¶éÉбБαΑعа─\x85.1<", k=draw.randrange(14)))
        assert places_of(text) == len(_GARBLED.findall(text)), text
    assert characters("Он сказал, что дорога длинная".encode("mac-cyrillic"), "x-mac-cyrillic", is_html=True)[1] == (
        "mac-cyrillic"
    )


PIECES = st.sampled_from(
    [b"<", b">", b"<script", b"</script>", b"</SCRIPT >", b"<STYLE>", b"</style>", b"<b>", b"s", b" ", b"abcd", b"\xe9",
     b"\xa0", b"\xe8\xe9\xea", b"_", b"/"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map(b"".join), st.integers(1, 90))
def test_bytes_that_tell(data, most) -> None:
    """Tags, ASCII and high bytes are found as regular expressions find them."""
    for scripts in (True, False):
        assert bare.without_tags(data, most, scripts=scripts) == twin.without_tags(data, scripts=scripts)[:most]
    assert bare.shortened(data) == twin.shortened(data)
    assert bare.high_bytes(data) == twin.high_bytes(data)


LETTERS = {
    "cs": "Ráno bylo staré město tiché a lidé šli na trh pro chléb. Muž řekl, že je to příliš dlouhá cesta.",
    "pl": "Rano stare miasto było ciche, a ludzie szli na targ po chleb. Mężczyzna powiedział, że droga będzie długa.",
    "sv": "På morgonen var den gamla staden tyst, och människorna gick för att köpa bröd. Vägen är lång men så skön.",
    "fr": NEWS["fr"], "pt": NEWS["pt"], "de": NEWS["de"], "is": NEWS["is"],
}  # fmt: skip


@pytest.mark.parametrize("evidence", ["default header alone", "default meta alone", "nothing"])
@pytest.mark.parametrize(
    ("lang", "charset"),
    [("cs", "cp1250"), ("cs", "iso8859-2"), ("pl", "cp1250"), ("sv", "mac-roman"), ("pt", "mac-roman"),
     ("fr", "cp1252"), ("de", "cp1252"), ("sv", "cp1252"), ("is", "cp1252"), ("pt", "cp1252")],
)  # fmt: skip
def test_letters_of_one_language_tell_the_charset(lang, charset, evidence):
    """Without a name of use, Latin script is read in the charset in which a page has the letters of one language."""
    header, meta = EVIDENCE[evidence]
    text = PAGE.format(meta=f"<meta charset={meta}>" if meta else "", title=LETTERS[lang][:30], text=LETTERS[lang])
    assert characters(text.encode(charset), header, is_html=True)[0] == text


@pytest.mark.parametrize(
    ("text", "charset"),
    [("It’s fine – don’t worry – we’re here — it’s good", "cp1252"), ("– from 50 m³ – to 20 m³ – or 30 m³", "cp1252"),
     ("As before¹ and later³ – again¹ – this³ – and¹", "cp1252"), ("5 µm, 6 µm, 7 µm, 9\xa0µm, 12\xa0µm", "cp1252"),
     ("An toirt: 50 m³ – mór – 60 m³ – fós 20 m³", "cp1252"), ("stêr, brañ, hañv, bezañ, skrivañ", "iso8859-1")],
    ids=["apostrophes", "cubic", "footnotes", "micro", "irish", "breton"],
)  # fmt: skip
def test_signs_are_no_letters_of_another_charset(text, charset):
    """A page of signs, which would be letters in Windows-1250 or Macintosh, keeps the charset that it states."""
    page = PAGE.format(meta=f"<meta charset={charset}>", title="x", text=text)
    assert characters(page.encode(charset), charset, is_html=True)[:2] == (page, "cp1252")


@pytest.mark.parametrize(
    ("text", "charset"),
    [("ČAŠA ŽIVI ŠLI KJER ŽENA ŠIVA SVEŽ", "windows-1250"), ("Đoković El Nio Málaga Đoković ó", "iso-8859-2")],
    ids=["capitals", "names"],
)
def test_two_names_of_one_charset_are_not_doubted(text, charset):
    """Letters of several languages, and capitals alone, stay in the charset that both the header and `meta` name."""
    page = PAGE.format(meta=f"<meta charset={charset}>", title="x", text=3 * text)
    data = page.encode(charset, "ignore")
    assert characters(data, charset, is_html=True)[0] == data.decode(charset)


@pytest.mark.parametrize(
    ("data", "header", "text", "charset"),
    [
        (b"<p>~{<:Ky2;Hg~} ~~ ~{NpJ)~}", "hz-gb-2312", "<p>己所不如 ~ 勿施", "hz"),
        (b"<p>~{<:Ky~} ~{2;Hg~} ~{NpJ)~}", "", "<p>己所 不如 勿施", "hz"),
        (b"<p>a ~{ b ~} and ~{<:~}", "", "<p>a ~{ b ~} and ~{<:~}", "utf-8"),
        (b"<p>gr+APY-n +- 1", "utf-7", "<p>grön + 1", "utf-7"),
        (b'<meta charset="UTF-7"><p>gr+APY-n', "", '<meta charset="UTF-7"><p>grön', "utf-7"),
        (b"<p>gr+APY-n", "", "<p>gr+APY-n", "utf-8"),
        (b"<p>C++ and 1+1", "utf-7", "<p>C++ and 1+1", "utf-8"),
        ("<p>gr+APY-n ö".encode(), "utf-7", "<p>gr+APY-n ö", "utf-8"),
    ],
    ids=["hz", "hz-bare", "no-hz", "utf7", "utf7-meta", "utf7-bare", "no-utf7", "no-ascii"],
)
def test_charsets_of_seven_bits(data, header, text, charset):
    """HZ by name or by its runs, UTF-7 by name; where neither decodes to more than ASCII, the bytes are as they are."""
    assert characters(data, header, is_html=True)[:2] == (text, charset)
