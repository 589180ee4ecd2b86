"""WhatsApp's phrases for deleted and edited messages, calls, locations and its own messages, by kind and language.

Each line of a table has the form described in `placeholders.py`.
"""

from __future__ import annotations

DELETED = """
    en: this message was deleted | you deleted this message | you deleted this message as admin
    ar: لقد حذَفت هذه الرسالة | أنت حذفت هذه الرسالة | تم حذف هذه الرسالة
    ca: aquest missatge s'ha suprimit | has suprimit aquest missatge
    cs: tuto zprávu jste smazal/a | tato zpráva byla smazána
    cs: tuto zprávu jste odstranil/a | tato zpráva byla odstraněna
    da: denne besked er blevet slettet | du har slettet denne besked | denne besked blev slettet
    de: du hast diese nachricht gelöscht | diese nachricht wurde gelöscht
    el: αυτό το μήνυμα διαγράφηκε | διαγράψατε αυτό το μήνυμα | διαγράψατε το μήνυμα
    es: eliminaste este mensaje | se eliminó este mensaje | este mensaje fue eliminado
    fa: این پیام حذف شد | این پیام حذف شده است | شما این پیام را حذف کردید
    fi: tämä viesti poistettiin | poistit tämän viestin
    fr: vous avez supprimé ce message | ce message a été supprimé
    he: הודעה זו נמחקה | מחקת הודעה זו | מחקת את ההודעה הזו
    hi: आपने यह मैसेज डिलीट किया | यह मैसेज डिलीट कर दिया गया है | यह संदेश मिटाया गया | आपने यह संदेश मिटाया
    hr: ova poruka je izbrisana | ova je poruka izbrisana | izbrisali ste ovu poruku
    hu: ez az üzenet törlésre került | törölted ezt az üzenetet | ezt az üzenetet törölted
    id: anda menghapus pesan ini | pesan ini dihapus | anda telah menghapus pesan ini | pesan ini telah dihapus
    it: hai eliminato questo messaggio | questo messaggio è stato eliminato
    ja: このメッセージを削除しました | このメッセージは削除されました
    ko: 이 메시지는 삭제되었습니다 | 삭제한 메시지입니다 | 이 메시지를 삭제했습니다
    ms: mesej ini telah dipadam | anda telah memadamkan mesej ini
    nb: denne meldingen ble slettet | du slettet denne meldingen
    nl: dit bericht is verwijderd | je hebt dit bericht verwijderd | u hebt dit bericht verwijderd
    pl: ta wiadomość została usunięta | usunąłeś(-ęłaś) tę wiadomość | usunąłeś(aś) tę wiadomość
    pt: apagou esta mensagem | você apagou esta mensagem | mensagem apagada | esta mensagem foi apagada
    ro: acest mesaj a fost șters | ați șters acest mesaj
    ru: вы удалили данное сообщение | данное сообщение удалено | вы удалили это сообщение
    sk: táto správa bola odstránená | túto správu ste odstránili
    sv: det här meddelandet raderades | du raderade det här meddelandet | detta meddelande raderades
    sv: du raderade detta meddelande | du har tagit bort meddelandet
    th: คุณได้ลบข้อความนี้ | ข้อความนี้ถูกลบแล้ว | คุณลบข้อความนี้ | ข้อความนี้ได้ถูกลบ
    tr: bu mesaj silindi | bu mesajı sildiniz
    uk: ви видалили це повідомлення | це повідомлення було видалено
    ur: یہ میسج حذف کر دیا گیا ہے | آپ نے یہ میسج حذف کر دیا ہے
    vi: bạn đã xoá tin nhắn này | bạn đã xóa tin nhắn này | tin nhắn này đã bị xóa | tin nhắn này đã bị xoá
    zh: 此訊息已刪除 | 您已刪除此訊息 | 这条消息已被删除 | 您已删除这条消息 | 信息已删除
"""

DELETED_BY = "this message was deleted by "  # a name follows, or "an admin"
ADMIN = "(?<! as )admin|админ|yönetici|amministrator|管理|관리자|مشرف"  # after one of DELETED

MISSED = """
    en: missed voice call | missed video call | missed group voice call | missed group video call
    ar: مكالمة صوتية فائتة | مكالمة فيديو فائتة
    ca: trucada de veu perduda | videotrucada perduda
    cs: zmeškaný hovor | zmeškaný hlasový hovor | zmeškaný videohovor
    da: ubesvaret taleopkald | ubesvaret videoopkald
    de: verpasster sprachanruf | verpasster videoanruf
    el: αναπάντητη κλήση | αναπάντητη φωνητική κλήση | αναπάντητη βιντεοκλήση
    es: llamada perdida | llamada de voz perdida | videollamada perdida
    fa: تماس صوتی پاسخ داده نشده | تماس تصویری پاسخ داده نشده
    fi: vastaamaton äänipuhelu | vastaamaton videopuhelu
    fr: appel vocal manqué | appel vidéo manqué
    he: שיחה קולית שלא נענתה | שיחת וידאו שלא נענתה
    hi: मिस्ड वॉइस कॉल | मिस्ड वीडियो कॉल
    hr: propušten glasovni poziv | propušten video poziv
    hu: nem fogadott hanghívás | nem fogadott videohívás | nem fogadott videóhívás
    id: panggilan suara tak terjawab | panggilan video tak terjawab
    it: chiamata vocale persa | videochiamata persa
    ja: 音声通話不在着信 | ビデオ通話不在着信 | 不在着信
    ko: 부재중 전화 | 부재중 영상통화
    ms: panggilan suara terlepas | panggilan video terlepas
    nb: tapt taleanrop | tapt videoanrop
    nl: gemist spraakgesprek | gemist videogesprek | gemiste spraakoproep | gemiste video-oproep
    pl: nieodebrane poł. głosowe | nieodebrane poł. wideo | nieodebrane połączenie
    pt: chamada de voz perdida | chamada de vídeo perdida | videochamada perdida
    pt: ligação de voz perdida | ligação de vídeo perdida
    ro: apel vocal nepreluat | apel video nepreluat | apel vocal ratat | apel video ratat
    ru: пропущенный аудиозвонок | пропущенный видеозвонок
    sk: zmeškaný hovor | zmeškaný videohovor
    sv: missat röstsamtal | missat videosamtal
    th: สายที่ไม่ได้รับ | วิดีโอคอลที่ไม่ได้รับ
    tr: cevapsız sesli arama | cevapsız görüntülü arama
    uk: пропущений аудіодзвінок | пропущений відеодзвінок
    vi: cuộc gọi nhỡ | cuộc gọi nhỡ video
    zh: 未接語音通話 | 未接視像通話 | 未接语音通话 | 未接视频通话
"""  # calls, without a direction mark too

CALLS = """
    en: voice call | video call | group voice call | group video call | silenced voice call | silenced video call
    de: sprachanruf | videoanruf
    es: llamada | llamada de voz | videollamada
    fr: appel vocal | appel vidéo
    it: chiamata vocale | videochiamata
    nl: spraakoproep | video-oproep
    pt: chamada de voz | videochamada | ligação de voz | ligação de vídeo
    ru: аудиозвонок | видеозвонок
    tr: sesli arama | görüntülü arama
"""  # people type these: recognised after a direction mark only

LIVE = """
    en: live location shared
    ar: تمت مشاركة الموقع المباشر
    cs: byla sdílena aktuální poloha
    de: live-standort wird geteilt
    es: ubicación en tiempo real compartida
    fa: مکان زنده به اشتراک گذاشته شد
    fi: live-sijainti jaettu
    fr: localisation en direct partagée
    he: משתף מיקום בשידור חי
    hu: tartózkodási hely megosztva
    id: lokasi terkini dibagikan
    it: posizione attuale condivisa
    ja: ライブロケーション共有
    ko: 공유한 실시간 위치
    ms: lokasi terkini dikongsi
    nb: posisjon i sanntid delt
    nl: live locatie gedeeld
    pl: udostępniona transmisja położenia
    pt: localização atual compartilhada | está a partilhar a sua localização
    ro: locație în timp real distribuită
    ru: геоданные отправлены
    sk: bola zdieľaná aktuálna poloha
    sv: liveposition delad
    tr: mevcut konum paylaşıldı
    uk: геодані надіслано
    vi: vị trí hiện thời được chia sẻ
    zh: 實時位置已分享 | 共享实时位置
"""  # a place that is shared as it changes

WAITING = """
    en: waiting for this message | waiting for this message. this may take a while
"""

VIEW_ONCE = "you received a view once"

EDITED = """
    en: this message was edited
    ar: تم تعديل هذه الرسالة
    de: diese nachricht wurde bearbeitet
    es: se editó este mensaje
    fr: ce message a été modifié
    he: ההודעה נערכה
    id: pesan ini diedit
    it: questo messaggio è stato modificato
    nl: dit bericht is bewerkt
    pt: mensagem editada | esta mensagem foi editada
    ru: сообщение изменено
    tr: bu mesaj düzenlendi
"""  # `TEXT <phrase>`

BEGINS: dict[str, str] = {  # text before the first colon: of a place, whose address follows; of a poll, alone
    "location": """
        en: location
        ar: موقع | الموقع
        ca: ubicació
        cs: poloha
        da: placering
        de: standort
        el: τοποθεσία
        es: ubicación
        fa: موقعیت
        fi: sijainti
        fr: localisation
        he: מיקום
        hi: लोकेशन | स्थान
        hr: lokacija
        hu: helyzet
        id: lokasi
        it: posizione
        ja: 位置情報
        ko: 위치
        nb: posisjon
        nl: locatie
        pl: położenie
        pt: localização
        ro: locație
        ru: местоположение
        sv: plats
        th: ตำแหน่งที่ตั้ง
        tr: konum
        uk: розташування | місцезнаходження
        vi: vị trí
        zh: 位置
    """,
    "poll": """
        en: poll
        tr: anket
    """,
    "event": """
        en: event
    """,
}

SAYS = """
    en: messages and calls are|messages to this|messages you send to this|messages in this|your security code
    en: this chat is with|this business|you created|you changed|you added|you removed
    en: you joined|you left|you were added|you're now|you are now|you're no longer|you turned|you pinned|you updated
    en: you blocked|you unblocked|you deleted this group|you started a|disappearing messages were
    en: this message can't be displayed|missed (?:group )?(?:voice|video) call
    ar: الرسائل والمكالمات|الرسائل التي|تغيّر رمز|تغير رمز|أنشأت|أضفت|غيّرت|لقد أنشأت
    cs: zprávy a hovory|zprávy (?:v|do) t|bezpečnostní kód
    da: beskeder og opkald|beskeder til denne|din sikkerhedskode
    de: nachrichten und anrufe|nachrichten in dies|nachrichten an dies|deine sicherheitsnummer|die sicherheitsnummer
    de: du hast (?:die|den|das|diese|eine|gruppe)|du bist|du wurdest
    el: τα μηνύματα και οι κλήσεις|ο κωδικός ασφαλείας
    es: los mensajes y las llamadas|los mensajes (?:en|de) est|cambió (?:tu|el) código|tu código de seguridad
    es: creaste (?:el|este) grupo|cambiaste|añadiste a|eliminaste a|te uniste|saliste del|ahora eres admin
    fa: پیام‌?ها |کد امنیتی
    fi: viestit ja puhelut|turvanumerosi
    fr: les messages et les appels|les messages (?:envoyés )?dans|votre code de sécurité
    fr: vous avez (?:créé|changé|modifié|ajouté|retiré|rejoint|quitté)|vous êtes|vous utilisez
    he: ההודעות והשיחות|קוד האבטחה|יצרת את|הוספת את|שינית את|הצטרפת
    hi: मैसेजेस और कॉल्स|मैसेज और कॉल|आपने (?:ग्रुप|इस ग्रुप)
    hu: az üzenetek és hívások
    id: pesan dan panggilan|pesan ke grup|kode keamanan anda
    id: anda (?:membuat|mengubah|menambahkan|mengeluarkan|bergabung)
    it: i messaggi e le chiamate|i messaggi (?:in|inviati)|il tuo codice di sicurezza
    it: hai (?:creato|cambiato|modificato|aggiunto|rimosso|abbandonato)|ora sei amministrator
    ja: メッセージと通話|あなたが
    ko: 메시지 및 전화|메시지와 통화
    ms: mesej dan panggilan|kod keselamatan
    nb: meldinger og samtaler
    nl: berichten en gesprekken|berichten (?:in|naar) d|u(?:w|) beveiligingscode|je beveiligingscode
    nl: (?:je|u) (?:hebt|heeft) (?:de|deze|het|groep)|(?:je|u) bent
    pl: wiadomości i połączenia|wiadomości w|twój kod zabezpieczeń|utworzono grupę|dodano|zmieniono
    pt: as mensagens e (?:as )?(?:chamadas|ligações)|mensagens e (?:chamadas|ligações)|(?:o )?seu código de segurança
    pt: as mensagens (?:que|desta|enviadas)|você (?:criou|mudou|alterou|adicionou|removeu|entrou|saiu)|criou o grupo
    ro: mesajele și apelurile|codul dvs
    ru: сообщения и звонки|сообщения в|ваш код безопасности|код безопасности
    ru: вы (?:создали|изменили|добавили|удалили|присоединились|покинули|вышли|теперь)
    sk: správy a hovory
    sv: meddelanden och samtal|meddelanden (?:i|till) denna
    th: ข้อความและการโทร|รหัสความปลอดภัย|คุณสร้างกลุ่ม
    tr: mesajlar ve aramalar|bu (?:gruba|sohbete)
    uk: повідомлення й дзвінки|повідомлення та дзвінки|код безпеки|ви (?:створили|змінили|додали|видалили|приєдналися)
    vi: tin nhắn và cuộc gọi|mã bảo mật|bạn đã (?:tạo|thêm|thay đổi|tham gia)
    zh: 消息和通话|訊息和通話|訊息已受|您与|您和|您與|您(?:创建|建立|添加|新增|更改|變更|加入)
"""  # how a line begins that WhatsApp says: regular expressions

DOES = r"""
    en: created (?:this )?group|changed (?:the|this|their|to|from)|added |removed |joined (?:using|from|via)|pinned a
    en: left$|left the group|was (?:added|removed)|were (?:added|removed)
    en: turned (?:on|off)|updated the|invited |is a contact
    en: security code|requested to join|deleted this group|reset (?:the|this) group|started a call|no longer an admin
    ar: أنشأ (?:ال)?مجموعة|أنشأ هذه|أضاف|أضافك|غادر|غيّر|أزال|انضمّ|انضم إلى
    cs: vytvořil\S* skupinu|přidal\S* |odebral\S* |opustil\S* |změnil\S* |se připojil
    da: oprettede gruppen|tilføjede |fjernede |forlod |ændrede |deltog via
    de: hat (?:die|den|das|diese|dich|gruppe|seine|ihre)
    de: hat .* (?:hinzugefügt|entfernt|geändert|erstellt)|wurde hinzugefügt
    de: ist (?:der gruppe|dieser gruppe|über|mit)|hinzugefügt$|entfernt$
    el: δημιούργησε|πρόσθεσε|αποχώρησε|άλλαξε
    es: creó (?:el|este) grupo|cambió (?:el|la|los|su|a)|añadió |agregó |eliminó a|te añadió|te eliminó|salió|se unió
    fa: گروه را|اضافه کرد|ترک کرد|تغییر داد
    fi: loi ryhmän|lisäsi |poisti |poistui|vaihtoi |liittyi
    fr: a créé (?:le|ce) groupe|a (?:changé|modifié|ajouté|retiré|supprimé|quitté|rejoint)|vous a (?:ajouté|retiré)
    he: יצר/ה|יצר את|הוסיף/ה|הוסיף את|עזב/ה|עזב|שינה/תה|שינה את|הצטרפ|הסיר/ה
    hi: ने ग्रुप|ने इस ग्रुप|को जोड़ा|को निकाल
    hu: létrehozta|hozzáadta|kilépett|módosította|megváltoztatta
    id: membuat grup|menambahkan |mengeluarkan |keluar$|mengubah |bergabung |telah keluar
    it: ha (?:creato|cambiato|modificato|aggiunto|rimosso|abbandonato)
    it: ti ha (?:aggiunto|rimosso)|si è unit|è entrat|è uscit
    ms: mencipta kumpulan|menambah |telah keluar|menukar |menyertai
    nb: opprettet gruppen|la til |fjernet |forlot |endret |ble med
    nl: heeft (?:de|deze|het|je|u|groep)|heeft .* (?:toegevoegd|verwijderd|gewijzigd|gemaakt|aangemaakt)|is toegevoegd
    nl: neemt nu deel|heeft de groep verlaten
    pl: utworzył\S* |dodał\S* |usunął\S* |usunęła |opuścił\S* |zmienił\S* |dołączył
    pt: criou (?:o|este) grupo|(?:mudou|alterou) |adicionou |removeu |saiu$|saiu do|entrou (?:usando|neste|através)
    ro: a creat grup|a adăugat|a eliminat|a ieșit|a părăsit|a schimbat|s-a alăturat
    ru: создал\S* групп|добавил\S* |удалил\S* |покинул|вышел|вышла|изменил|присоединил|теперь админ
    sk: vytvoril\S* skupinu|pridal\S* |odstránil\S* |opustil\S* |zmenil
    sv: skapade gruppen|lade till |tog bort |lämnade|ändrade |gick med
    tr: oluşturdu|ekledi|çıkardı|ayrıldı|değiştirdi|katıldı
    uk: створи\S* групу|додав|додала|видалив|видалила|вийшов|вийшла|змінив|змінила|приєднав|приєднала
    vi: đã tạo nhóm|đã thêm|đã rời|đã thay đổi|đã xóa|đã tham gia
"""  # WhatsApp's lines about an action of somebody, after a space: regular expressions

DOES_CLOSE = """
    ja: がグループ|を追加しました|退出しました|変更しました|参加しました|削除しました|作成しました
    ko: 님이|나갔습니다|초대했습니다|변경했습니다|추가했습니다
    th: สร้างกลุ่ม|ได้เพิ่ม|ออกจากกลุ่ม|ได้เปลี่ยน|เข้าร่วมกลุ่ม
    zh: 创建了|建立了|添加了|新增了|退出了|離開了|更改了|變更了|加入了|移除了|使用此群
"""  # the same in languages that write words together
