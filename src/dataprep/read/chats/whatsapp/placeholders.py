"""Phrases that WhatsApp writes in place of a file, by kind and language, as phones export them.

Each line of a table is a language and its phrases, separated by bars. Phrases are written without direction marks and
full stop at the end, and in MARKED without the `<` and `>` around them in old exports; case does not matter. To support
a language, add phrases that occur in an export; do not translate them yourself, because people's own words may match a
translation.
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
"""  # Android's, for all files; "null" is a file that can be viewed once

MARKED: dict[str, str] = {  # iOS's: after a direction mark, or anywhere in an export that has none
    "image": """
        en: image omitted
        ar: لم يتم إدراج الصورة
        ca: imatge omesa
        cs: obrázek vynechán
        da: billede udeladt
        de: bild weggelassen
        el: εικόνα παραλείφθηκε
        es: imagen omitida
        fa: تصویر حذف شد
        fr: image absente
        he: התמונה הושמטה
        hi: फ़ोटो हटाई गई
        hr: slika izostavljena
        id: gambar tidak disertakan
        it: immagine omessa
        ja: 画像は含まれていません
        ko: 이미지 생략됨
        ms: imej tidak dimasukkan
        nb: bilde ikke inkludert
        nl: afbeelding weggelaten
        pl: obraz pominięty
        pt: imagem não revelada | imagem ocultada
        ro: imagine omisă
        ru: изображение отсутствует
        sk: obrázok vynechaný
        sv: bild utesluten
        th: ไม่มีรูปภาพ
        tr: görüntü dahil edilmedi
        uk: зображення відсутнє
        vi: đã bỏ qua hình ảnh
        zh: 圖片已略去 | 圖像已省略 | 照片已忽略
    """,
    "video": """
        en: video omitted | video note omitted
        ar: لم يتم إدراج الفيديوهات
        ca: vídeo omès
        cs: video vynecháno
        da: video udeladt
        de: video weggelassen
        el: βίντεο παραλείφθηκε
        es: video omitido | vídeo omitido
        fa: ویدیو حذف شد
        fr: vidéo absente
        he: סרטון הווידאו הושמט
        hi: वीडियो छोड़ा गया
        hr: video izostavljen
        hu: videó kihagyva
        id: video tidak disertakan
        it: video omesso
        ja: ビデオは含まれていません
        ko: 비디오 생략됨
        ms: video tidak dimasukkan
        nb: video utelatt
        nl: video weggelaten
        pl: wideo pominięte
        pt: vídeo não revelado | vídeo omitido
        ro: clip video omis
        ru: видео отсутствует
        sk: video vynechané
        sv: video utesluten
        th: วิดีโอถูกลบ
        tr: video dahil edilmedi
        uk: відео відсутнє
        vi: đã bỏ video
        zh: 影片已略去 | 影片已省略 | 视频已忽略
    """,
    "audio": """
        en: audio omitted
        ar: لم يتم إدراج المقاطع الصوتية
        ca: àudio omès
        cs: zvukový soubor vynechán
        da: lyd udeladt
        de: audio weggelassen
        el: ήχος παραλείφθηκε
        es: audio omitido
        fa: صدا حذف شد
        fr: audio omis
        he: קטע קול הושמט
        hi: ऑडियो हटाई गयी
        hr: zvuk izostavljen
        hu: hang kihagyása
        id: audio tidak disertakan
        it: audio omesso
        ja: 音声は含まれていません
        ko: 오디오 생략됨
        ms: audio tidak dimasukkan
        nb: lyd utelatt
        nl: audio weggelaten
        pl: audio pominięte
        pt: ficheiro de áudio não revelado | áudio ocultado
        ro: fără audio
        ru: аудиофайл отсутствует
        sk: zvuk vynechaný
        sv: ljud utelslutet
        th: ไม่มีไฟล์เสียง
        tr: ses dahil edilmedi
        uk: аудіо відсутнє
        vi: bỏ qua tệp âm thanh
        zh: 音訊已略去 | 音訊已省略 | 音频已忽略
    """,
    "contact": """
        en: contact card omitted
        ar: لم يتم إدراج بطاقة جهة اتصال
        ca: targeta de contacte omesa
        cs: vizitka vynechána
        da: kontaktkort udeladt
        de: kontaktkarte ausgelassen
        el: η κάρτα επαφής παραλήφθηκε
        es: tarjeta de contacto omitida
        fa: برگ مخاطب حذف شد
        fi: yhteystietokortti jätettiin pois
        fr: fiche contact manquante
        he: כרטיס איש קשר הושמט
        hi: कॉन्टैक्ट कार्ड छोड़ा गया
        hr: posjetnica izostavljena
        hu: névjegykártya kihagyva
        id: kartu kontak tidak disertakan
        it: scheda contatto omessa
        ja: 連絡先カードを省略
        ko: 연락처 카드 생략됨
        ms: kad kenalan tidak dimasukkan
        nb: kontaktkort sløyfet
        nl: visitekaartje weggelaten
        pl: pominięta wizytówka kontaktu
        pt: contacto não revelado | cartão do contato omitido
        ro: carte de vizită contact omisă
        ru: карточка контакта отсутствует
        sk: karta kontaktu vynechaná
        sv: kontaktkort uteslutet
        th: บัตรรายชื่อที่ละเว้น
        tr: kişi kartı dahil edilmedi
        uk: картка контакту відсутня
        vi: bỏ qua thẻ liên lạc
        zh: 聯絡人卡片已略去 | 聯絡人卡片已省略 | 联系人卡片已忽略
    """,
    "sticker": """
        en: sticker omitted
        ar: تم حذف الملصقات
        ca: adhesiu omès
        cs: nálepka vynechána
        da: klistermærke udeladt
        de: sticker weggelassen
        el: αυτοκόλλητο παραλήφθηκε
        es: sticker omitido
        fa: استیکر حذف شد
        fi: tarraa ei sisällytetty
        fr: sticker omis
        he: סטיקר הושמט
        hi: स्टिकर छोड़ा गया
        hr: naljepnica izostavljena
        hu: matrica kihagyva
        id: stiker tidak disertakan
        it: sticker non incluso
        ja: スタンプは含まれていません
        ko: 스티커 제외됨
        ms: pelekat tidak disertakan
        nb: klistremerke utelatt
        nl: sticker weggelaten
        pl: pominięto naklejkę
        pt: sticker não revelado | figurinha omitida
        ru: стикер не добавлен
        sk: nálepka vynechaná
        sv: sticker utesluten
        th: ไม่มีสติกเกอร์
        tr: çıkartma dahil edilmedi
        uk: наклейку не додано
        vi: đã bỏ sticker
        zh: 貼圖已略去 | 貼圖已忽略 | 贴图已省略
    """,
    "file": """
        en: document omitted
        ar: لم يتم إدراج المستند
        ca: document omès
        cs: dokument vynechán
        da: dokument udeladt
        de: dokument weggelassen
        el: έγγραφο παραλείφθηκε
        es: documento omitido
        fa: سند حذف شد
        fr: document manquant
        he: מסמך הושמט
        hi: डॉक्यूमेंट छोड़ा गया
        hr: dokument izostavljen
        hu: dokumentum kihagyva
        id: dokumen tidak disertakan
        it: documento omesso
        ja: ドキュメントは含まれていません
        ko: 문서 생략됨
        ms: dokumen tidak dimasukkan
        nb: utelatt dokument
        nl: document weggelaten
        pl: dokument pominięty
        pt: documento não revelado | documento omitido
        ro: document omis
        ru: документ отсутствует
        sk: dokument vynechaný
        sv: dokument uteslutet
        th: ละเว้นเอกสาร
        tr: belge dahil edilmedi
        uk: документ пропущено
        vi: đã bỏ qua tài liệu
        zh: 文件已略去 | 文件已忽略 | 文档已省略
    """,
    "gif": """
        en: gif omitted
        ar: لم يتم إدراج صورة gif
        ca: gif omès
        cs: gif vynechán
        da: gif udeladt
        de: gif weggelassen
        el: παράληψη gif
        es: gif omitido
        fa: gif حذف شد
        fr: gif retiré
        he: gif הושמט
        hi: gif छोड़ा गया
        hr: gif izostavljen
        id: gif tidak disertakan
        it: gif esclusa
        ja: gifは含まれていません
        ko: gif 생략됨
        ms: gif tidak dimasukkan
        nb: gif utelatt
        nl: gif weggelaten
        pl: plik gif pominięty
        pt: gif não revelada | gif omitido
        ro: gif omis
        ru: gif отсутствует
        sk: gif vynechaný
        sv: gif utesluten
        th: ละเว้น gif
        tr: gif dahil edilmedi
        uk: gif-анімацію пропущено
        vi: đã bỏ qua ảnh gif
        zh: gif 已略去 | gif 圖片已被省略 | gif 动态图已被忽略
    """,
}

VIEW_ONCE: dict[str, str] = {  # Android's
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
"""  # Android's `NAME (phrase)`; iOS's `<phrase: NAME>` is recognised by its form
