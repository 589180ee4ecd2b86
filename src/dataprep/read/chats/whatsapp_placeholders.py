"""What WhatsApp writes in place of a message, by kind and language, as exported by phones.

A line is a language and its phrases, between bars. Left out: direction marks, a full stop at the end, the `<` and `>`
around a whole phrase; small and capital letters are the same. To teach a language, add a line with phrases seen in
an export: an invented translation does harm, since it stands in the way of what somebody said.
"""

from __future__ import annotations

ANYWHERE: dict[str, str] = {  # Android's, or so long that nobody types them: recognised with or without marks
    "file": """
        en: <media omitted> | null
        ar: <تم استبعاد الوسائط>
        cs: <média vynechány>
        de: <medien ausgeschlossen> | <medien weggelassen>
        es: <multimedia omitido> | <archivo omitido>
        fr: <médias omis> | <fichier omis>
        id: <media tidak disertakan>
        it: <media omessi>
        nl: <media weggelaten>
        pt: <mídia oculta> | <arquivo de mídia oculto> | <ficheiro não revelado> | <mídia omitida>
        ru: <без медиафайлов> | <файл пропущен>
        tr: <medya dahil edilmedi>
        zh: <省略多媒体文件> | <省略多媒體檔案>
    """,
    "audio": """
        en: <view once voice message omitted>
    """,
    "video": """
        en: <video message omitted> | <video note omitted>
    """,
    "deleted": """
        en: this message was deleted | you deleted this message
        ar: لقد حذَفت هذه الرسالة | أنت حذفت هذه الرسالة | تم حذف هذه الرسالة
        cs: tuto zprávu jste smazal/a | tato zpráva byla smazána
        cs: tuto zprávu jste odstranil/a | tato zpráva byla odstraněna
        de: du hast diese nachricht gelöscht | diese nachricht wurde gelöscht
        es: eliminaste este mensaje | se eliminó este mensaje | este mensaje fue eliminado
        fr: vous avez supprimé ce message | ce message a été supprimé
        hi: आपने यह मैसेज डिलीट किया | यह मैसेज डिलीट कर दिया गया है
        id: anda menghapus pesan ini | pesan ini dihapus | pesan ini telah dihapus
        it: hai eliminato questo messaggio | questo messaggio è stato eliminato
        ja: このメッセージを削除しました | このメッセージは削除されました
        nl: dit bericht is verwijderd | je hebt dit bericht verwijderd | u hebt dit bericht verwijderd
        pt: apagou esta mensagem | esta mensagem foi apagada
        pt: você apagou esta mensagem | mensagem apagada | essa mensagem foi apagada
        ru: вы удалили данное сообщение | данное сообщение удалено | вы удалили это сообщение | это сообщение удалено
        th: คุณได้ลบข้อความนี้ | ข้อความนี้ถูกลบแล้ว
        tr: bu mesaj silindi | bu mesajı sildiniz
        uk: ви видалили це повідомлення | це повідомлення було видалено
        vi: bạn đã xoá tin nhắn này | tin nhắn này đã bị xóa | tin nhắn này đã bị xoá
    """,
    "call": """
        en: missed voice call | missed video call
        en: missed group voice call | missed group video call | missed group call
        cs: zmeškaný hovor
        de: verpasster sprachanruf | verpasster videoanruf
    """,
    "location": """
        en: live location shared
    """,
    "system": """
        en: waiting for this message | waiting for this message. this may take a while
    """,
}  # fmt: skip

MARKED: dict[str, str] = {  # iOS's: recognised behind a direction mark, or anywhere in an export that lost its marks
    "image": """
        en: image omitted | photo omitted
        ar: لم يتم إدراج الصورة
        cs: obrázek vynechán
        de: bild weggelassen
        es: imagen omitida
        fr: image absente
        hi: फ़ोटो हटाई गई
        id: gambar tidak disertakan
        it: immagine omessa
        ja: 画像は含まれていません
        nl: afbeelding weggelaten
        pt: imagem não revelada | imagem ocultada
        ru: изображение отсутствует
        th: ไม่มีรูปภาพ
        tr: görüntü dahil edilmedi
        uk: зображення відсутнє
        vi: đã bỏ qua hình ảnh
    """,
    "video": """
        en: video omitted | video note omitted
        ar: لم يتم إدراج الفيديوهات
        cs: video vynecháno
        de: video weggelassen
        es: video omitido
        fr: vidéo absente
        hi: वीडियो छोड़ा गया
        id: video tidak disertakan
        it: video omesso
        ja: ビデオは含まれていません
        nl: video weggelaten
        pt: vídeo não revelado | vídeo omitido
        ru: видео отсутствует
        th: วิดีโอถูกลบ
        tr: video dahil edilmedi
        uk: відео відсутнє
        vi: đã bỏ video
    """,
    "audio": """
        en: audio omitted
        ar: لم يتم إدراج المقاطع الصوتية
        cs: zvukový soubor vynechán
        de: audio weggelassen
        es: audio omitido
        fr: audio omis
        hi: ऑडियो हटाई गयी
        id: audio tidak disertakan
        it: audio omesso
        ja: 音声は含まれていません
        nl: audio weggelaten
        pt: ficheiro de áudio não revelado | áudio ocultado
        ru: аудиофайл отсутствует
        th: ไม่มีไฟล์เสียง
        tr: ses dahil edilmedi
        uk: аудіо відсутнє
        vi: bỏ qua tệp âm thanh
    """,
    "contact": """
        en: contact card omitted
        ar: لم يتم إدراج بطاقة جهة اتصال
        cs: vizitka vynechána
        de: kontaktkarte ausgelassen
        es: tarjeta de contacto omitida
        fr: fiche contact manquante
        hi: कॉन्टैक्ट कार्ड छोड़ा गया
        id: kartu kontak tidak disertakan
        it: scheda contatto omessa
        ja: 連絡先カードを省略
        pt: contacto não revelado | cartão do contato omitido
        ru: карточка контакта отсутствует
        th: บัตรรายชื่อที่ละเว้น
        uk: картка контакту відсутня
        vi: bỏ qua thẻ liên lạc
    """,
    "sticker": """
        en: sticker omitted
        ar: تم حذف الملصقات
        cs: nálepka vynechána
        de: sticker weggelassen
        es: sticker omitido
        fr: sticker omis
        hi: स्टिकर छोड़ा गया
        id: stiker tidak disertakan
        it: sticker non incluso
        ja: スタンプは含まれていません
        nl: sticker weggelaten
        pt: sticker não revelado | figurinha omitida
        ru: стикер не добавлен
        th: ไม่มีสติกเกอร์
        tr: çıkartma dahil edilmedi
        uk: наклейку не додано
        vi: đã bỏ sticker
    """,
    "file": """
        en: document omitted
        ar: لم يتم إدراج المستند
        cs: dokument vynechán
        de: dokument weggelassen
        es: documento omitido
        fr: document manquant
        hi: डॉक्यूमेंट छोड़ा गया
        id: dokumen tidak disertakan
        it: documento omesso
        ja: ドキュメントは含まれていません
        nl: document weggelaten
        pt: documento não revelado | documento omitido
        ru: документ отсутствует
        th: ละเว้นเอกสาร
        tr: belge dahil edilmedi
        uk: документ пропущено
        vi: đã bỏ qua tài liệu
    """,
    "gif": """
        en: gif omitted
        ar: لم يتم إدراج صورة gif
        cs: gif vynechán
        de: gif weggelassen
        es: gif omitido
        fr: gif retiré
        hi: gif छोड़ा गया
        id: gif tidak disertakan
        it: gif esclusa
        ja: gifは含まれていません
        nl: gif weggelaten
        pt: gif não revelada | gif omitido
        ru: gif отсутствует
        th: ละเว้น gif
        tr: gif dahil edilmedi
        uk: gif-анімацію пропущено
        vi: đã bỏ qua ảnh gif
    """,
}

SPOKEN: dict[str, str] = {  # people type these too: recognised behind a direction mark only
    "call": """
        en: voice call | video call | group voice call | group video call | silenced voice call | silenced video call
        de: sprachanruf | videoanruf
    """,
}

BEGINS: dict[str, str] = {  # how a first line begins, up to its first colon; a location has an address behind it
    "location": """
        en: location
        ar: موقع
        cs: poloha
        de: standort
        es: ubicación
        fr: localisation
        hi: लोकेशन
        id: lokasi
        it: posizione
        ja: 位置情報
        nl: locatie
        pt: localização
        ru: местоположение
        th: ตำแหน่งที่ตั้ง
        tr: konum
        uk: розташування
        vi: vị trí
    """,
    "poll": """
        en: poll
        de: umfrage
        es: encuesta
        fr: sondage
        it: sondaggio
        pt: enquete
    """,
    "event": """
        en: event
    """,
}

ATTACHED = """
    en: file attached
    cs: soubor byl přiložen
    de: datei angehängt
    es: archivo adjunto
    fr: fichier joint
    id: file terlampir
    it: file allegato
    nl: bestand bijgevoegd
    pt: arquivo anexado | ficheiro anexado
    ru: файл добавлен
    tr: dosya ekli
"""  # Android: NAME (phrase)

EDITED = """
    en: this message was edited
    de: diese nachricht wurde bearbeitet
    es: se editó este mensaje
    fr: ce message a été modifié
    it: questo messaggio è stato modificato
    pt: mensagem editada | esta mensagem foi editada
"""  # TEXT <phrase>
