"""Words near a number, as data: words about phones, words about other things, and units and currencies."""

from __future__ import annotations

# Single words, up to six words before a number, that show that it is a phone; those of `label_words.PHONE` do, too.
NEAR_PHONE = """
ringt|ringes|oppringt|oppringning|ringer|reservations|rezervace|rezervácie|rezerwacje|rezerwacja|réservations
reservas|prenotazioni|reservierung|reservierungen|reserveren|rezervasyon|bookings|appointments|rdv|turnos|citas
appuntamenti|renseignements|auskunft|informazioni|informes|enquiries|inquiries|запись|бронирование|справки
информация|κρατήσεις|πληροφορίες|للحجز|للاستعلام|للاستفسار|الاستعلام|استعلامات|randevu|bilgi|objednání|objednávky
zapisy|informacja|informace|érdeklődni|foglalás|rezervări|programări|резервации|лінія|запис|đài|verde|freephone
tollfree|switchboard|helpdesk|hotlines|infoline|infolinia|infoligne|standardiste|centralino|centralita|centralka
zentrale|empfang|recepción|reception|réception|recepção|portineria|ресепшн|диспетчер|диспетчерская|приёмная|приемная
линия|гаряча|горячая|регистратура|реєстратура|секретарь|довідка|справочная|ykalemni|kalemni|kalmni|kelmni|kelmouni
kallemni|klemni|nkelmek|n3ayet|3ayet|3ayetli|3ayetlo|3ayetliya|ayet|3yet|3it|3iti|3itlo|3iyet|itasel|ittasel|itesel
etesel|tsel|tsal|itsel|ettasel|kallimni|kalimni|kellemni|kalemna|kelmouna|sawl|sawlou|rann|ronn|3ayyat|itlobni|wtsp
wtsap|wtp|whatssap|watssap|watsap|watsapp|wathsap|whtsp|ws|phon|fon|tele|telf|tlf|tlph|tph|portab|hatef|jawwal|jawal
mobil|mobayl|mobile|phone|fone|milao|milaao|lagao|lagana|karna|karo|karlo|karein|raabta|rabta|rabita|sampark|baat
ghanti|ring|miss|misscall|jazz|telenor|zong|ufone|airtel|jio|bsnl|vodafone|orange|inwi|iam|ooredoo|djezzy|mobilis
bizum|mpesa|paytm|gpay|phonepe|upi|momo|pix|gcash|bkash|swish|vipps|mobilepay|blik|twint|zelle|venmo|cashapp|yape
apunta|apúntate|apuntad|anota|anotá|anotad|anote|notier|notiere|noteer|catat|запиши|запишите|dúvida|dúvidas|duda|dudas
rückfragen|plin|nequi|daviplata|mbway|mb|wave|easypaisa|jazzcash|wafacash|coge|cógelo|cuelga|contesta|atiende|atende|responde
rispondi|risponde|répond|décroche|réponds|erreiche|meld|melde|melden|bellt|sluit|кошелек|позвонишь|наберёшь|звякни
маякни|скинь|скиньте|отпишитесь|пишите|напишите|пиши|write|schreib|schreibt|escribe|escribid|écris|écrivez|scrivi
scrivetemi|يكلمني|كلمه|كلمها|كلموه|اتواصل|يتصل|تتصل|اتصلو|كلمونا|رنلي|رنوا|صونيلي|يعيط|تعيط|نعيط|يتواصل|فودافون
اورانج|كاش|انستاباي|بريدي|بريدىموب|صوني|دقوا|دق|ارسل|راسلوني|راسلونا|संपर्क|मिलाओ|मिलाएँ|मिलाइए|लगाओ|लगाना|घंटी|बात
बताना|बताएँ|बता|भेजो|भेज|भेजें|पेटीएम|गूगलपे|फोनपे|यूपीआई|বিকাশ|নগদ|রকেট|ডায়াল|মেসেজ|কল|জানান|பேச|அழை|తెలియ|رابطے
ملائیں|ملاؤ|ملا|کریں|بھیجیں|بھیجو|کیجیے|کرنا|بات|جاز|کیش|ایزی|پیسہ|call|calls|called|calling|rang|dial|text|texted
texting|sms|mms|reach|reached|reachable|contact|contacts|phones|phoned|phoning|telephone|tel|mob|cell|cellphone
cellular|whatsapp|whatsap|whats|wapp|viber|telegram|signal|imo|voicemail|landline|hotline|helpline|fax|sim|msisdn
phonenumber|mobilenumber|telnumber|homephone|workphone|cellnumber|receptionist|appelle|appeler|appelez|appelles
appel|rappelle|rappeler|rappelez|joindre|joignable|contacter|contactez|contacte|portable|téléphone|téléphoner
telephoner|fixe|texto|gsm|standard|llama|llamar|llámame|llámanos|llame|llamen|llamad|márcame|marcar|marca|celular
móvil|movil|teléfono|telefono|contacta|contactar|comunicarse|comunícate|wasap|guasap|escríbeme|ligar|liga|ligue
liguem|telemóvel|telemovel|telefone|contacto|contato|zap|zapzap|chiama|chiamare|chiamami|chiamate|chiami|telefonare
cellulare|contattare|contattami|contattateci|recapito|anrufen|anruf|ruf|rufe|rufen|rufnummer|telefon|telefonisch
handy|handynummer|mobilnummer|erreichen|erreichbar|festnetz|telefonnummer|rückruf|bel|bellen|belt|telefoonnummer
telefoon|mobiel|bereiken|bereikbaar|appen|gebeld|ringa|ringe|mobiltelefon|tlfnr|puhelin|puh|puhelinnumero|soita
soittaa|sími|símanúmer|zadzwoń|dzwonić|dzwoń|telefonu|komórka|komórkowy|zavolej|zavolejte|volejte|volat|zavolajte
volajte|telefonní|telefónne|mobilu|számom|telefonszám|telefonszámom|hívj|hívjon|hívd|mobilszám|sună|suna|sunați
sunati|telefonul|nazovi|nazovite|zovi|zovite|mobitel|pokliči|pokličite|telefonska|skambinkite|skambink|zvani|zvaniet
helistage|helista|ara|arayın|arayin|arayabilirsiniz|ulaşabilirsiniz|numaram|numaramdan|telefonum|cep|iletişim|telp
telepon|hubungi|hp|nope|gọi|liên|điện|thoại|sđt|máy|simu|piga|tawagan|tumawag|nmra|nemra|nmrti|nmrtek|nemrti|nmerti
nimirti|telifon|tilifon|3ayt|3eyet|3iyt|sonni|sayit|nmretha|numrouk|звони|звоните|позвони|позвоните|позвонить
звонить|звонок|перезвоните|перезвони|набери|наберите|набирайте|телефон|телефону|телефона|телефоны|тел|моб|мобильный
мобильного|мобильному|мобила|сотовый|сотового|вотсап|ватсап|вацап|вайбер|телеграм|телеграмм|смс|контакт|контакты
связь|связи|дзвони|дзвоніть|зателефонуй|зателефонуйте|телефонуйте|мобільний|звънете|обадете|обади|звъннете|мобилен
позови|позовите|зови|број|телефонот|утас|утасны|хабарласыңыз|τηλ|τηλέφωνο|τηλεφώνησε|τηλεφωνήστε|κάλεσε|καλέστε
κινητό|κιν|πάρε|πάρτε|επικοινωνία|επικοινωνήστε|φαξ|טלפון|נייד|התקשרו|התקשר|התקשרי|להתקשר|תתקשר|תתקשרי|טל|פלאפון
וואטסאפ|ווטסאפ|סמס|ליצירת|חייג|חייגו|פקס|հեռ|հեռախոս|հեռախոսահամար|զանգահարել|զանգեք|զանգիր|բջջային|დარეკეთ
დამირეკეთ|დამირეკე|ტელეფონი|ტელ|მობილური|მობ|ስልክ|ይደውሉ|ደውል|ደውሉ|ሞባይል|फ़ोन|फोन|मोबाइल|मोबाईल|सम्पर्क|कॉल|व्हाट्सएप
व्हाट्सऐप|वॉट्सऐप|दूरभाष|फोनवर|क्रमांकावर|ফোন|মোবাইল|নাম্বারে|নম্বরে|যোগাযোগ|হোয়াটসঅ্যাপ|தொலைபேசி|கைபேசி|மொபைல்
போன்|அழைக்க|அழைக்கவும்|தொடர்புக்கு|செல்|ఫోన్|మొబైల్|కాల్|సంప్రదించండి|ಫೋನ್|ಮೊಬೈಲ್|ಸಂಪರ್ಕಿಸಿ|ಕರೆ|ഫോൺ|മൊബൈൽ|വിളിക്കുക
വിളിക്കൂ|ફોન|મોબાઇલ|મોબાઈલ|સંપર્ક|કૉલ|ਫ਼ੋਨ|ਫੋਨ|ਮੋਬਾਈਲ|ਮੋਬਾਇਲ|ਸੰਪਰਕ|දුරකථන|ජංගම|අමතන්න|هاتف|هاتفي|هاتفه|هاتفها|تلفون
تليفون|تيليفون|جوال|جوالي|جواله|موبايل|موبايلي|محمول|نقال|واتساب|واتس|واتسآب|فاكس|نمرة|نمرتي|نمرتو|نمرتها|رقمي|رقمه
رقمها|رقمك|اتصل|اتصلوا|اتصلي|للاتصال|الاتصال|اتصال|للتواصل|التواصل|تواصل|تواصلوا|كلمني|كلموني|عيط|عيطي|عيطو|عيطلي
كلمنا|راسلني|دقلي|رن|تماس|تلفن|موبایل|همراه|زنگ|شمارم|فون|موبائل|رابطہ|کال|واٹس
"""
# The same for scripts without spaces between words: a number just behind them is a phone.
NEAR_PHONE_UNSPACED = """
致電|撥打|請撥|請電|洽詢|查詢|專線|专线|咨询|諮詢|热线|客服电话|总机|總機|分机|打電話|來電|来电|短信|簡訊|受付|代表
内線|直通|お電話|連絡先|고객센터|상담|대표번호|대표|콜센터|예약문의|안내|전화하|ศูนย์|สายด่วน|สอบถาม|แฟกซ์|ไลน์|电话
電話|手机|手機|致电|拨打|联系|聯絡|聯繫|座机|市話|客服|微信|传真|傳真|熱線|打给|携帯|連絡|お問い合わせ|ご予約
電話番号|フリーダイヤル|ケータイ|かけて|전화|휴대폰|핸드폰|연락|문의|팩스|카톡|휴대전화|โทร|โทรศัพท์|เบอร์|มือถือ
ติดต่อ|ໂທ|ເບີ|ໂທລະສັບ|ມືຖື|ဖုန်း|ဆက်သွယ်|ទូរស័ព្ទ|ទូរសព្ទ|ទាក់ទង
"""
# Single words, up to six words before a number without a 0 or + in front, that show that it is no phone; those of
# `label_words.NOT_PERSONAL` do, too.
NEAR_OTHER = """
identification|tax|taxpayer|registration|federal|money|quoted|lbs|tonnes|close|path|aspath|pp|pág|págs|pag|pagg
pagina|páginas|página|seite|seiten|стр|страница|сс|σελ|sayfa|str|strona|strony|side|sidor|boe|núm|renavam|chassi
châssis|chasis|telaio|fahrgestell|protocollo|prot|fascicolo|vận|đơn|rastreamento|القطعة|قطعة|المنتج|موديل|cep|cap
oem|ref|barcode|imei|lotto|loto|part|parts|compte|az|aktenzeichen|winning|gagnants|lucky|orders|ordered|shipment
parcel|package|consignment|awb|waybill|tracked|invoices|bill|receipt|transaction|txn|txid|payment|paid|pay|pays
deposit|transfer|amount|total|sum|subtotal|price|cost|costs|budget|revenue|sales|profit|worth|salary|fee|fees|fine
debt|population|inhabitants|users|followers|subscribers|views|votes|voters|hits|downloads|copies|visitors|steps
points|score|miles|distance|bytes|size|length|weight|count|counter|rows|lines|records|entries|items|units|pieces
quantity|qty|pin|otp|code|codes|password|passcode|token|checksum|crc32|seed|port|offset|timestamp|epoch|ts|unix|pid
tid|rev|revision|commit|session|request|trace|span|error|status|exit|hex|decimal|digits|number-plate|plate|registry
patent|trademark|claim|claims|permit|badge|matricule|matrícula|matricola|matrikelnummer|matrikel|enrolment
enrollment|roll|exam|candidate|voter|record|chart|prescription|sample|specimen|lab|catalog|catalogue|cat|isbn|issn
oclc|lccn|asin|sku|plu|engine|chassis|model|flight|train|seat|room|gate|locker|parcelle|lot|plot|deed|cadastre
coordinates|latitude|longitude|lat|lon|lng|altitude|year|years|date|page|pages|chapter|verse|article|row|column
table|figure|colis|suivi|expédition|montant|prix|somme|totale|chiffre|habitants|abonnés|vues|électeurs|ventes
salaire|billet|étudiant|élève|employé|assuré|sécurité|sociale|allocataire|contribuable|fiscal|immatriculation|brevet
code-barre|référence|réf|virement|paiement|facturation|n°client|abonné|abonnement|dossier|sinistre|plainte|permis
pedido|envío|guía|rastreo|seguimiento|monto|importe|precio|suma|habitantes|seguidores|vistas|votos|ventas|recibo
expediente|afiliado|seguro|código|contraseña|contador|boleto|rastreio|encomenda|protocolo|boletim|inscrição|processo
valor|preço|spedizione|ordine|codice|importo|prezzo|abitanti|tessera|pratica|ricevuta|bolletta|sendung
sendungsnummer|paket|lieferung|lieferschein|betrag|preis|summe|einwohner|menschen|aufrufe|stimmen|buchungsnummer
fahrgestellnummer|versicherungsnummer|mitgliedsnummer|steuernummer|personalnummer|vorgang|vorgangsnummer
zählernummer|zähler|artikelnr|rechnungsnr|kundennr|iban|bedrag|prijs|inwoners|zending|pakket|klant|polisnummer
dossiernummer|lidnummer|ordernummer|factuurnummer|ordrenummer|fakturanummer|kundenummer|beställning|ordre|tilaus
tilausnumero|lasku|laskun|viite|viitenumero|zamówienia|zamówienie|przesyłka|paczka|kwota|cena|mieszkańców|osób
objednávka|objednávky|zásilka|číslo|částka|obyvatel|faktury|rendelés|rendelésszám|számla|csomag|ár|összeg|comandă
comanda|colet|sumă|preț|locuitori|pošiljka|narudžba|narudžbe|račun|cijena|iznos|stanovnika|sipariş|kargo|takip|tutar
fiyat|nüfus|kişi|dekont|barkod|tc|resi|harga|jumlah|tagihan|invois|giá|mã|kiện|tổng|resibo|presyo|oda|bei|talab
thaman|taman|commande|посылка|посылки|посылку|отправление|отправления|сумма|цена|стоимость|итого|жителей|человек
подписчиков|просмотров|голосов|билет|билета|код|кода|пароль|чек|чека|транзакция|платёж|платеж|артикул|штрихкод|трек
трек-код|ттн|посилка|сума|ціна|вартість|мешканців|осіб|квиток|замовлення|пратка|пакет|пошиљка|захиалга|тапсырыс|δέμα
αποστολή|ποσό|τιμή|σύνολο|κάτοικοι|κωδικός|παραγγελίας|απόδειξη|משלוח|חבילה|סכום|מחיר|תושבים|קוד|אסמכתא|קבלה|תיק
הזמנה|פוליסה|פטירה|առաքում|պատվեր|გზავნილი|შეკვეთა|ትዕዛዝ|ደረሰኝ|ሂሳብ|पार्सल|राशि|कीमत|मूल्य|कुल|जनसंख्या|लोग|बुकिंग|खाता
कोड|रसीद|बिल|ऑर्डर|पीएनआर|रोल|पंजीकरण|পার্সেল|পরিমাণ|দাম|মূল্য|জনসংখ্যা|হিসাব|রসিদ|অর্ডার|কোড|ஆர்டர்|பில்|கணக்கு
ఆర్డర్|బిల్|ఖాతా|ಆರ್ಡರ್|ಬಿಲ್|ಖಾತೆ|ഓർഡർ|ബിൽ|അക്കൗണ്ട്|ઓર્ડર|બિલ|ખાતા|ਆਰਡਰ|ਬਿੱਲ|ਖਾਤਾ|ඇණවුම|ගිණුම|طلب|طلبية|الطلبية
الطلب|طلبك|شحنة|الشحنة|شحن|تتبع|التتبع|طرد|الطرد|مبلغ|المبلغ|ثمن|الثمن|سعر|السعر|بسعر|مجموع|المجموع|إجمالي|الإجمالي
نسمة|سكان|السكان|متابع|مشاهدة|أصوات|صوت|تذكرة|التذكرة|رمز|الرمز|كود|الكود|إيصال|وصل|التسجيل|تسجيل|القيد|عملية
العملية|معاملة|المعاملة|تحويل|التحويل|بوليصة|البوليصة|فاتورة|الفاتورة|عداد|العداد|باركود|الباركود|قیمت|مرسوله|رهگیری
سفارش|فاکتور|حساب|کد|پیگیری|بارکد|آرڈر|پارسل|بل|رسید|اکاؤنٹ|کوڈ
"""
NEAR_OTHER_UNSPACED = """
订单|訂單|单号|單號|快递|运单|物流|发票|發票|账号|帐号|賬號|帳號|卡号|编号|編號|金额|金額|价格|價格|总计|人口|密码
密碼|验证码|驗證碼|序列号|条形码|身份证|流水号|编码|合同|注文|伝票|請求書|会員|追跡|製造番号|品番|型番|口座|価格
合計|受付番号|予約番号|注文番号|会員番号|お客様番号|伝票番号|管理番号|登録番号|契約番号|問い合わせ番号|주문|송장
운송장|고객번호|회원번호|계좌|금액|가격|합계|인구|인증번호|일련번호|사업자|예약번호|접수번호|คำสั่งซื้อ|พัสดุ
ใบเสร็จ|ใบแจ้งหนี้|บัญชี|ราคา|รหัส|จำนวน|ยอด|ประชากร|เลขที่|ໃບບິນ|ບັນຊີ|ລາຄາ|အော်ဒါ|ငွေ|ចំនួន|តម្លៃ|គណនី|វិក្កយបត្រ
"""
# Units and currencies after a number without a 0 or + in front, which is then no phone.
UNITS = """
€|$|£|¥|₹|₽|₺|₴|₪|₩|฿|₫|₦|%|°|euro|euros|eur|usd|gbp|chf|cad|aud|jpy|cny|rmb|yuan|inr|rs|rupees|rupee|rub|руб|рублей
рубля|р|грн|гривен|kr|sek|nok|dkk|zł|zl|pln|kč|czk|huf|forint|ron|lv|лв|дин|rsd|hrk|tl|lira|mad|dh|dhs|dirham
dirhams|dinars|dinar|dzd|tnd|egp|sar|aed|qar|kwd|درهم|دينار|ريال|جنيه|ليرة|دولار|يورو|نسمة|شخص|متر|كم|تومان|روپے
pesos|peso|mxn|cop|clp|ars|brl|reais|soles|dollars|dollar|bucks|pounds|cents|millions|million|yen|baht|dong|vnd|vnđ
đ|đồng|rupiah|idr|php|ringgit|myr|sgd|naira|ngn|shillings|kes|ksh|zar|cfa|fcfa|xof|birr|etb|元|块|円|人|個|원|명|บาท
คน|रुपये|रुपए|রুপি|টাকা|тенге|тг|сум|сўм|лари|драм|km|m|m²|m2|kg|g|cm|mm|miles|bytes|byte|octets|kb|mb|gb|tb|px
pixels|sec|seconds|secondes|hours|h|years|ans|jahre|años|people|persons|personnes|personen|personas|pessoas|persone
habitants|inhabitants|einwohner|habitantes|abitanti|users|followers|views|votes|voters|copies|units|points|downloads
exemplaires|vues|abonnés|кв|км|м|кг|человек|жителей|шт|просмотров|голосов|подписчиков|осіб|душ
"""
# Words for a number of whatever kind: it is a phone if no word of another thing is near.
NUMBER = """
number|numbers|numero|numéro|número|num|nummer|numer|numara|numarası|numarasi|nomor|số|broj|číslo|номер|номеру
номера|дугаар|нөмірі|numeris|numărul|αριθμό|αριθμός|νούμερο|מספר|המספר|ቁጥር|नंबर|नम्बर|নম্বর|নাম্বার|எண்|నంబర్|નંબર
ਨੰਬਰ|අංකය|رقم|شماره|نمبر|namba|ნომერი|ნომერზე|号码|號碼|番号|번호|နံပါတ်|លេខ
"""
# Words of a sentence whose only number is then no phone; those of NEAR_OTHER are, too.
COUNTED = """
issue|issues|card|user|tweet|tweets|thread|block|tx|nonce|random|frequency|freq|volume|hertz|hz|khz|mhz|galaxy|star
stars|étoiles|étoile|estrellas|visiteur|visiteurs|visitor|identifiant|identifiants|login|inscrit|inscrite|inscription
jackpot|cagnotte|bote|ads|likes|retweets|streams|stream|vistas|mundo|pull|ticket|bug|merge|prime|divisible|integer
number|equals|sqrt|bit|bits|node|nodes|cluster|gene|protein|asteroid|telescope|satellite|satélite|kilometer|kilometers
kilometres|kilomètres|kilómetros|km|parsec|years-old|votants|votes|élection|elecciones|recaudó|recaudo|taquilla|box-office
presupuesto|déficit|deficit|haushalt|haushalts|etat|budgets|zählerstand|stand|kilometerstand|sayaç|sayac|tiraj|endeks
bütçe|anggaran|suara|penonton|population|poblacion|población|bevölkerung|nufus|kwh|m3|relevé|index|relève|meetings
meeting|réunion|zoom|kahoot|quiz|lobby|server|discord|steam|level|niveau|rank|ranking|classement|highscore|xp|coins|gold
gems|robux|skins|serial|licence|clé|clave|llave|key|keys|schlüssel|anahtar|wifi|wi-fi|mot|passe|admis|reçu|bac|concours
examen|exam|table|candidat|candidate|étudiante|student|bibliothèque|library|livre|book|film|movie|vidéo|video|videos
youtube|post|posts|comment|channel|blog|article|articles|annonce|listing|ad|offre|lot|vol|flight|train|bus|wagon|quai
نسخة|نسخ|مشاهدات|المشاهدات|صوتا|ناخب|ميزانية|الميزانية|تفعيل|التفعيل|إعلان|الإعلان|مقال|فيديو|الفيديو|رحلة|الرحلة
قطار|القطار|مقعد|امتحان|الامتحان|جلوس|الجلوس|بطاقة|البطاقة|اشتراك|الاشتراك|مفتاح|سيريال|تسلسلي|عضوية|العضوية|هوية
الهوية|منشور|زائر|زائرا|फाइल|फ़ाइल|आबादी|परीक्षा|रोल|सीट|टिकट|टिकिट|ट्रेन|वोट|कार्ड|आधार|मीटर|যাত্রী|ভোট|টিকিট|আদেশ
ট্রেন|কার্ড|মিটার|পরীক্ষা|টিকেট|ٹکٹ|ٹرین|ووٹ|امتحان|رول|میٹر|کارڈ|آبادی|فائل|tiket|kereta|ujian|kartu|meteran|peserta
tikiti|treni|kura|mita|kadi|mtihani|bilet|sınav|kart|tren|biletto|biglietto|esame|treno|examen|expedient
"""
# Words just before a number that show that it is counted.
ABOUT = """
environ|près de|plus de|moins de|au moins|presque|about|around|over|nearly|almost|approximately|more than|less than
at least|circa|ca|quasi|oltre|più di|unos|unas|cerca de|casi|más de|menos de|aproximadamente|etwa|rund|über|fast|knapp
mehr als|yaklaşık|sekitar|lebih dari|zaidi ya|karibu|takriban|حوالي|نحو|أكثر من|أقل من|قرابة|زهاء|ما يقارب|लगभग|करीब
প্রায়|تقریبا|تقریباً|entre|between|zwischen|tra|fra|equals|worth|total|of|à hauteur de|nummer eins
"""
# Words before pairs of digits that rise, which are then drawn in a lottery.
LOTTERY = """
powerball|lotto|loto|lottery|loterie|lotería|loteria|lotterie|lotteria|keno|bingo|euromillions|eurojackpot|jackpot
tirage|draw|drawn|sorteo|sorteio|estrazione|superenalotto|ziehung|superzahl|millions|joker|balls|boules|quinté|tiercé
лото|лотерея|тираж|لوتو|اليانصيب|سحب|السحب|lotería|çekiliş|undian|togel
"""
# Words before four small numbers that show that they are an address all the same.
HOST = """
ip|ips|ipv4|addr|address|host|hosts|dns|server|servers|ping|gateway|resolver|nameserver|adresse|dirección|direccion
endereço|indirizzo|адрес|айпи|آيبي|serveur|servidor|عنوان|الخادم|سيرفر|whois|traceroute|сервер|sunucu
"""
# The same if one of the numbers is not small.
TRAFFIC = """
remote|src|dst|client|from|ssh|via|depuis|desde|von|с|от|login|connection|connected|accepted|rejected|blocked|banned
ban|router|peer|proxy|traffic|request|requests|for|forwarded|rhost|logged|visitor|visitors|من|a|to
"""
# Words before four numbers that are a version, or a section.
VERSION = """
version|versión|versão|versione|versie|verze|verzió|verzia|versiune|wersja|wersji|wersję|versi|sürüm|sürümü|версия
версии|версию|версія|версії|إصدار|الإصدار|نسخة|النسخة|نسخه|έκδοση|גרסה|phiên|bản|संस्करण|সংস্করণ|firmware
micrologiciel|logiciel|software|release|releases|build|builds|update|updated|upgrade|upgraded|patch|patched|hotfix
aktualisiert|app|application|applicatif|chrome|chromium|firefox|safari|edge|opera|windows|macos|ios|android|linux
kernel|driver|drivers|bios|java|jdk|office|nginx|apache|openssl|python|mysql|oracle|oid|asn|schema|dll|sdk|api|ec
section|sections|chapter|clause|article|§|v|ver|rev|прошивка|обновление|обновления|прошивки|aggiornamento
actualización|atualização|güncelleme|تحديث|التحديث|pilote|plugin|package|library|lib
"""
# Words between a word for numbers and the number that say nothing.
FILLERS = """
is|are|the|a|this|that|new|his|her|is:|ist|lautet|est|es|é|è|est:|هو|هي|هذا|है|ہے|এই|হল|je|jest|это|вот|e|y|=|то
"""
# Words for whose number it is.
OWN = """
my|your|his|her|our|their|me|mon|ton|son|notre|votre|leur|mi|tu|su|nuestro|meu|seu|minha|mein|meine|dein|deine|sein
seine|ihr|ihre|unsere|mio|tuo|suo|mijn|jouw|zijn|haar|min|din|mitt|ditt|mój|twój|jego|jej|moj|tvoj|můj|tvůj|teu
benim|senin|onun|ka|ki|ke|mera|meri|mere|tera|uska|unka|apna|apka|merā|dyal|dyali|dyalo|dyalha|diali|diyali|مني|ديال
ديالي|ديالو|ديالها|تاع|تاعي|متاع|мой|моя|твой|его|её|наш|ваш|мій|твій|його|її|मेरा|मेरे|मेरी|तेरा|उसका|उनका|का|की
अपना|आपका|हमारा|আমার|তোমার|তার|আপনার|میرا|میرے|اس|کا|آپ|new|private|personal|direct|direkt|personnel|perso
persönliche|neue|neuer|neues|nouveau|nouvelle|nuevo|nueva|novo|nova|nuovo|nuova|nieuwe|nieuw|nowy|nowa|yeni|новый|новая
новий|nytt|nya|nye|baru|mới|jdid|jdida|جديد|الجديد|الجديدة|नया|नई
"""
