"""Phrases that WhatsApp on iPhones writes in place of a file, by kind and language.

They occur after a direction mark, or anywhere in an export that has none. The tables are written as in placeholders.py,
without the `<` and `>` that old exports have around the phrases.
"""

from __future__ import annotations

PHRASES: dict[str, str] = {
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
