"""Phrases that Android's WhatsApp writes in place of a file, by language; those of iPhones are in placeholders_ios.py.

Each line of a table is a language and its phrases, separated by bars. Phrases are written without direction marks and
full stop at the end; case does not matter. To support a language, add phrases that occur in an export; do not translate
them yourself, because people's own words may match a translation.
"""

from __future__ import annotations

MEDIA = """
    en: <media omitted> | null
    ar: <تم استبعاد الوسائط>
    bg: <без файл>
    ca: <mitjans omesos> | <fitxers multimèdia omesos>
    cs: <média vynechány> | <média vynechána>
    da: <medier udeladt> | <mediefil udeladt>
    de: <medien ausgeschlossen> | <medien weggelassen>
    el: <εξαίρεση πολυμέσων>
    es: <multimedia omitido> | <archivo omitido>
    fa: <رسانه حذف شد>
    fi: <media jätettiin pois> | <media jätetty pois>
    fr: <médias omis> | <fichier omis>
    he: <המדיה לא נכללה> | <מדיה הושמטה>
    hi: <मीडिया के बिना>
    hr: <medijski zapis izostavljen>
    hu: <hiányzó médiafájl> | <média elhagyva>
    id: <media tidak disertakan>
    it: <media omessi> | <media omesso>
    ja: <メディアなし> | <メディアは含まれていません>
    ko: <미디어 파일 제외됨> | <미디어 파일을 생략한 대화내용>
    ms: <media disingkirkan> | <media dikecualikan>
    nb: <media utelatt> | <uten vedlegg>
    nl: <media weggelaten>
    pl: <pominięto multimedia> | <pliki pominięto>
    pt: <mídia oculta> | <arquivo de mídia oculto> | <ficheiro não revelado> | <mídia omitida>
    ro: <conținut media omis>
    ru: <без медиафайлов> | <файл пропущен>
    sk: <médiá vynechané>
    sv: <media utelämnat> | <media har utelämnats>
    th: <ไฟล์สื่อถูกลบ> | <สื่อถูกลบ>
    tr: <medya dahil edilmedi> | <medya atlanmış>
    uk: <медіа пропущено>
    ur: <میڈیا چھوڑ دیا گیا>
    vi: <bỏ qua tệp phương tiện> | <bỏ qua media>
    zh: <省略多媒体文件> | <忽略多媒體檔> | <省略多媒體檔案>
"""  # for all files; "null" is a file that can be viewed once

VIEW_ONCE: dict[str, str] = {
    "audio": "en: <view once voice message omitted>",
    "video": "en: <video message omitted> | <video note omitted>",
}

ATTACHED = """
    en: file attached
    ar: الملف مرفق
    ca: arxiu adjunt
    cs: soubor byl přiložen
    da: fil vedhæftet
    de: datei angehängt
    el: συνημμένο αρχείο
    es: archivo adjunto | archivo adjuntado
    fi: liitetiedosto
    fr: fichier joint
    he: קובץ מצורף
    hi: फ़ाइल अटैच की गई | फाइल अटैच कर दी गई है
    hr: datoteka u privitku
    hu: fájl csatolva
    id: file terlampir
    it: file allegato
    ja: 添付ファイル有り
    ko: 파일 첨부됨
    ms: fail dilampirkan
    nb: vedlagt fil
    nl: bestand bijgevoegd
    pl: załączony plik
    pt: arquivo anexado | ficheiro anexado
    ro: fișier atașat
    ru: файл добавлен
    sk: súbor pripojený
    sv: bifogad fil
    th: ไฟล์ที่แนบ
    tr: dosya ekli
    uk: файл додано
    vi: tệp đính kèm
    zh: 文件附件 | 附件檔案
"""  # written as `NAME (phrase)`; iOS's `<phrase: NAME>` is recognised by its form
