"""Words before a number that show what the number is: a phone, or an order, a company, a book or a version."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import numpy as np

from dataprep.unicode.text import U8

from .candidates import GAP_SIGN, LABEL_END, LABEL_GAP

# Words after which a number is not personal: of books, versions, papers, companies, orders and accounts.
NOT_PERSONAL = """
isbn|issn|ean|doi|arxiv|j.cell|isbn-10|isbn-13|ردمك|מסת"ב
version|ver|v|release|build|firmware|rfc|section|версия|версії|έκδοση|גרסה|الإصدار|إصدار|نسخه|版本|バージョン|버전
img|dsc|vid|ref|réf|reference|référence|booking|ticket|serial|tracking|sku|balance|solde|saldo|رصيد|المرجع
مرجع|مرجع الإعلان|артикул|серийный номер|артикулу
part no|part nr|part number|договор|договора|договору|бик|ملف|الملف|ترخيص رقم|رخصة رقم|رخصة|型号|型號|型番|mst
order|invoice|article|commande|facture|bestellnummer|bestellung|auftrag|auftragsnummer|rechnung|rechnungsnummer|artikel
artikelnummer|pedido|factura|fattura|ordine|bestelling|zamówienie|sipariş|fatura|đơn hàng
رقم الطلب|الفاتورة|رقم الفاتورة|رقم الطلبية|سفارش|заказ|заказа|заказу|счёт|счет|замовлення
παραγγελίας|παραγγελία|τιμολόγιο
מספר הזמנה|הזמנה|חשבונית|ऑर्डर|ऑर्डर संख्या|अर्डर|অর্ডার|หมายเลขคำสั่งซื้อ|คำสั่งซื้อ|订单号|订单|訂單|注文番号|注文|주문번호|주문
siren|siret|rcs|rc|ice|cnss|patente|tva|vat|kvk|kbo|bce|btw|crn|duns|company|registration|registered|cnpj|abn|ein
p.iva|p. iva|partita iva|nip|regon|ust-idnr|handelsregister|hrb|السجل التجاري|التعريف الموحد للمقاولة|الرقم الضريبي
инн|огрн|кпп|снилс|єдрпоу|окпо|αφμ|α.φ.μ.|γεμη|γ.ε.μη|ח.פ.|ח"פ
עוסק מורשה|统一社会信用代码|統一編號|法人番号|사업자등록번호|법인등록번호
"""
# Words after which a number is a phone, whatever it begins with.
PHONE = """
tel|tél|tel.nr|telef|telefon|telefone|telefono|teléfono|telephone|téléphone|telefoon|telefonu|phone|phones|mobile|mobil
móvil|llámame|llámanos|handynummer|telefonas|zadzwoń|hubungi|no hp|nomor hp|جوالي|热线|熱線|微信同号|ｔｅｌ
звонить|звони|сотовый|κιν
cell|cel|celular|cellulare|handy|gsm|fax|whatsapp|watsap|wtsp|ph|tfno|tlf|tlfn|điện thoại|nmerti|nmra|call|appelez
هاتف|الهاتف|هاتفي|تلفون|التلفون|تليفون|جوال|الجوال|موبايل|محمول|المحمول|نقال|النقال|واتساب|واتس|فاكس|نمرتي|نمرة|تلفن|موبایل|فون|اتصل
тел|телефон|телефону|телефона|моб|мобильный|мобільний|факс|вотсап|ватсап|whatsapp|звоните|дзвоніть
τηλ|τηλέφωνο|κινητό|φαξ|νούμερο|καλέστε|טלפון|טל|נייד|פקס|התקשרו|फ़ोन|फोन|मोबाइल|ফোন|মোবাইল|โทร|โทรศัพท์|เบอร์|มือถือ
电话|電話|手机|手機|致电|传真|電話番号|携帯|전화|전화번호|휴대폰|연락처|팩스|ტელ|მობ|ტელეფონი|ስልክ|հեռ|հեռախոս
"""
# Words between a label and its number: "phone number is", "call me on".
AFTER_LABEL = "house|number|no|nr|num|n°|id"
AFTER_PHONE = (
    "number|numbers|no|nr|num|n°|is|ist|unter|me|us|on|at|le|la|au|al|est|es|по|номеру|номер|στο|είναι|μου|على|بي|بنا|رقم|は|是"
)
_UNBROKEN = r"\u0590-\u06ff\u0900-\u0fff\u1000-\u10ff\u1200-\u137f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af"
LABEL = 40  # characters before a number in which a label is searched


def words(table: str) -> list[str]:
    """Return the labels of a table, the longest first."""
    return sorted({word for line in table.split("\n") for word in line.split("|") if word}, key=lambda w: (-len(w), w))


def _trie(some: Iterable[str]) -> str:
    """Return a pattern of some words, in which words with the same beginning share it."""
    rests = defaultdict(set)
    for word in some:
        rests[word[:1]].add(word[1:])
    longer = "|".join(re.escape(c) + (_trie(rests[c]) if rests[c] != {""} else "") for c in sorted(rests) if c)
    return f"(?:{longer}){'?' if '' in rests else ''}"


def _backwards(table: str, gap: str, more: str) -> re.Pattern[str]:
    """Return a pattern that matches at the start of a reversed text if the text ends with a label, `more`, and a gap.

    Only one position is tried, and at most one letter of most labels.
    """
    some = words(table)
    # Arabic and Hebrew write "and", "the" and "for" without a space before a word, and others have no spaces at all.
    glued = _trie(w[::-1] for w in some if re.match(rf"[{_UNBROKEN}]", w))
    apart = _trie(w[::-1] for w in some if not re.match(rf"[{_UNBROKEN}]", w))
    ends = "".join(sorted({re.escape(w[-1]) for w in some}))
    return re.compile(rf"{gap}{more}(?=[{ends}])(?:{apart}(?![^\W{_UNBROKEN}])|{glued})", re.IGNORECASE)


_NOT_PERSONAL = _backwards(
    NOT_PERSONAL, r"[ \t_.:：=#°№]{0,3}", rf"(?:[03]1-)?(?:{_trie(w[::-1] for w in AFTER_LABEL.split('|'))}[ _])?"
)
_PHONE_GAP = " \t_.:：=፦(（+"  # signs between the label of a phone and the number
_PHONE = _backwards(
    PHONE, f"[{_PHONE_GAP}]{{0,{LABEL_GAP}}}", rf"(?:{_trie(w[::-1] for w in AFTER_PHONE.split('|'))}[ _]?){{0,3}}"
)
PARAMETERS = "id|v|p|page|item|article|product|ref|order|t|q"  # of a URL: ?id=0612345678
# The beginning of an IBAN whose check digits are wrong: the rest of it is no phone.
_ACCOUNT = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ \u00a0][0-9A-Z]{4}){1,6}[ \u00a0]\Z")
_PARAMETER = re.compile(rf"[?&](?:{PARAMETERS})=\Z")


@cache
def label_ends() -> U8:
    """Return the bits GAP_SIGN and LABEL_END of each code point, uint8[0x110000].

    They mark the signs after the label of a phone and the last letters of such labels.
    """
    table = np.zeros(0x110000, np.uint8)
    last = "".join(sorted({re.escape(w[-1]) for w in (*words(PHONE), *AFTER_PHONE.split("|"))}))
    ends = re.compile(f"[{last}]", re.IGNORECASE)
    table[[ord(c) for c in ends.findall("".join(map(chr, range(0xD800))))]] = LABEL_END
    table[[ord(c) for c in _PHONE_GAP]] = GAP_SIGN
    return table


def is_labelled(text: str, start: int) -> bool:
    """Return whether a label before a number (ISBN, version, invoice) shows that the number is not personal.

    start: offset of the number in `text`, in characters.
    """
    before = text[max(0, start - LABEL) : start]
    if _NOT_PERSONAL.match(before[::-1]) or (before[-1:] == "=" and _PARAMETER.search(before)):
        return True
    return before[-1:] in " \u00a0" and _ACCOUNT.search(before) is not None


def is_phone_label(text: str, start: int) -> bool:
    """Return whether a label before a number (tel., phone, WhatsApp) shows that the number is a phone.

    start: offset of the number in `text`, in characters.
    """
    return _PHONE.match(text[max(0, start - LABEL) : start][::-1]) is not None
