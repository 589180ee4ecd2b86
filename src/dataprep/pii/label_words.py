"""Words before a number that indicate its meaning, as data: labels of phone numbers and of other numbers."""

from __future__ import annotations

# Words after which a number is not personal, or at least no phone, by what they name.
NOT_PERSONAL = """
pis|nis|cnh|cbu|run|nit|cédula|cedula|ruc|rfc|nss|cif|cups|niss|nib|pec|matricola|matricule|matrícula|pod|pdr|nir
pdl|prm|insee|finess|rpps|adeli|ape|naf|st.-nr|steuernummer|steuer-nr|idnr|kd.-nr|vers.-nr|vsnr|lanr|bsnr|rsin|agb
krs|ičo|dič|ič|rč|adószám|taj|cui|еик|егн|булстат|vkn|mersis|sgk|кпп|кбк|октмо|оквэд|уин|егрн|рнокпп|іпн|иин|бин|ע.מ
gstin|gst|pan|ifsc|micr|pnr|utr|consumer no|consumer number|cnic|ntn|strn|nid|tin|nisn|resi|no resi|no. resi
rekening|no rekening|no rek|mykad|ssm|mã số thuế|số tài khoản|stk|cmtnd|qq|税号|開戶|philhealth|bvn|nin|kra|paybill
till|till number|nhs|charity|sort|npi|mls|acn|tfn|nzbn|ird|hst|imo|mmsi|icao|orcid|pmid|pmcid|oclc|lccn|viaf|gnd
isni|cas|hs code|icq|steam|zoom|meeting id|webinar id|id de réunion|teamviewer|anydesk|passcode|awb|colis|suivi
tracking number|tracking no|shipment|parcel|consignment|reçu|recibo|quittung|receipt|transaction|txn|transaction id
payment|virement|transfer|claim|claim no|sinistre|siniestro|patent|trademark|matric|student id|student number
employee id|employee no|badge|voter id|registro|expediente nº|protocolo|protocollo|boleto|nosso número|kenteken
plaque|immatriculation|chassis|engine no|номер счета|лицевой счет|лицевой счёт|л/с|трек|ттн|код|кадастровый
удостоверение|полис|свидетельство|лицензия|вин|штрихкод|баркод|серия|абонент|код отслеживания|רישיון|רישוי|אסמכתא
משלוח|מעקב|קבלה|رقم الحجز|رقم التذكرة|رقم الشحنة|رقم الإيصال|رقم العملية|رقم المعاملة|رقم البوليصة|رقم العداد
رقم الاشتراك|رقم المشترك|السجل المدني|البطاقة الوطنية|القومي|الرقم القومي|الضريبية|رقم القيد|رقم التسجيل|الباركود
باركود|آيبان|شماره حساب|شماره کارت|شبا|کد پیگیری|کد رهگیری|شماره پرونده|شناسه|کد اقتصادی|کد پستی|رجسٹریشن نمبر
اکاؤنٹ نمبر|شناختی کارڈ نمبر|बिल नंबर|खाता नंबर|रजिस्ट्रेशन|पंजीकरण संख्या|उपभोक्ता संख्या|रसीद|ट्रैकिंग|जीएसटी
হিসাব নম্বর|এনআইডি|চালান নম্বর|ট্র্যাকিং|লাইসেন্স|เลขผู้เสียภาษี|เลขประจำตัวผู้เสียภาษี|เลขที่บัญชี|เลขที่|ทะเบียน
รหัสสินค้า|รหัสลูกค้า|税務登録|登録番号|申込番号|整理番号|証券番号|お問い合わせ番号|荷物番号|免許|会員ID|学籍番号
社員番号|등록번호|사업자|예약번호|접수번호|운송장|관리번호|면허|학번|사번|자동이체|工号|学号|会员号|编号|編號|流水号
交易号|保单号|车牌|许可证|執照|統編|备案号|文号|存单|isbn|issn|ismn|ean|doi|arxiv|j.cell|isbn-10|isbn-13|ردمك|מסת"ב
upc|gtin|barcode|code-barres|штрих-код|条码|バーコード|version|ver|v|release|build|firmware|section|версия|версії
έκδοση|גרסה|الإصدار|إصدار|نسخه|版本|バージョン|버전|img|dsc|vid|ref|réf|reference|référence|referencia|referenz|rif
booking|ticket|ticket-nr|ticketnr|ticketnummer|билет|билета|билеты|biglietto|bilet|bilet nr|رقم التذكرة|تذكرة|票号|票號
チケット番号|serial|tracking|sku|sn|s/n|المرجع|مرجع|مرجع الإعلان|артикул|серийный номер|артикулу|seriennummer
numéro de série|n° de série|número de serie|numero di serie|الرقم التسلسلي|الرقم المتسلسل|رقم التسلسل|شماره سریال
סידורי|מספר סידורי|सीरियल|क्रमांक|序列号|序號|シリアル番号|製造番号|일련번호|시리얼|part no|part nr|part number
part #|model|modell|modèle|modelo|型号|型號|型番|모델명|batch|lot no|lot number|asset|asset tag|inventory
инвентарный|инвентарный номер|инв|inventarnummer|inventaire|مخزون|資產編號|资产编号|meter|meter reading|compteur
balance|solde|saldo|رصيد|account|acct|a/c|konto|kto|kontonummer|compte bancaire|compte n°|numéro de compte
n° de compte|cuenta|conta|rib|iban|bic|clabe|routing|bsb|blz|sort code|счета|р/с|к/с|бик|حساب|الحساب|رقم الحساب
מספר חשבון|खाता|खाता संख्या|บัญชี|帳號|账号|帐号|口座番号|계좌|계좌번호|договор|договора|договору|contract|contrat
contrato|vertrag|vertragsnummer|ملف|الملف|رقم الملف|ترخيص رقم|رخصة رقم|رخصة|licence|license|permit|permis|licencia
policy|n° de police|póliza|polizza|policy number|بوليصة|case no|case nr|case number|case id|docket|dossier
expediente|aktenzeichen|az|pratica|дело|дела|номер дела|رقم القضية|القضية|案号|案件番号|사건번호|order|invoice
article|commande|facture|bestellnummer|bestell-nr|bestellung|auftrag|auftragsnummer|rechnung|rechnungsnummer|artikel
artikelnummer|artikel-nr|pedido|factura|fattura|ordine|bestelling|bestelnummer|factuur|zamówienie|zamówienia|faktura
sipariş|fatura|đơn hàng|mã đơn hàng|hóa đơn|pesanan|nomor pesanan|faktur|numéro de commande|n° de commande|n° client
n° de client|no client|numéro client|numéro de client|customer no|customer number|kundennummer|kunden-nr|kundennr
klantnummer|número de cliente|codice cliente|müşteri no|müşteri numarası|client id|member no|membership|رقم الطلب
الفاتورة|رقم الفاتورة|رقم الطلبية|الطلبية|سفارش|شماره سفارش|فاکتور|آرڈر|آرڈر نمبر|رقم التتبع|رقم العميل|заказ|заказа
заказу|счёт|счет|замовлення|накладная|накладной|накладна|квитанция|трек-номер|поръчка|фактура|наруџбина|παραγγελίας
παραγγελία|τιμολόγιο|τιμολογίου|σειριακός αριθμός|λογαριασμός|מספר הזמנה|הזמנה|חשבונית|מספר לקוח|ऑर्डर|ऑर्डर संख्या
ऑर्डर नंबर|अर्डर|बिल|बिल संख्या|चालान|অর্ডার|অর্ডার নম্বর|চালান|หมายเลขคำสั่งซื้อ|คำสั่งซื้อ|ใบแจ้งหนี้|ใบเสร็จ
เลขพัสดุ|订单号|订单|訂單|订单编号|訂單編號|发票|发票号码|發票號碼|快递单号|运单号|运单号码|單號|注文番号|注文
伝票番号|伝票|請求書番号|会員番号|お客様番号|追跡番号|주문번호|주문 번호|주문|송장번호|송장 번호|운송장번호|고객번호
회원번호|renavam|siren|siret|entreprise|ondernemingsnummer|rcs|rc|ice|cnss|patente|tva|vat|kvk|kbo|bce|btw|crn|duns
company|registration|registered|cnpj|abn|ein|p.iva|p. iva|partita iva|nip|regon|ust-idnr|handelsregister|hrb
السجل التجاري|التعريف الموحد للمقاولة|الرقم الضريبي|инн|огрн|снилс|єдрпоу|окпо|αφμ|α.φ.μ.|γεμη|γ.ε.μη|ח.פ.|ח"פ
עוסק מורשה|统一社会信用代码|統一編號|法人番号|사업자등록번호|법인등록번호|mst|id|uid|pid|ssn|social security|nino
dni|nie|nif|cuit|cuil|cpf|rut|rg|curp|pesel|bsn|cnp|nik|npwp|cmnd|cccd|aadhaar|uan|tckn|codice fiscale|personnummer
passport|passeport|pasaporte|passaporto|reisepass|паспорт|паспорта|جواز|جواز السفر|رقم الجواز|بطاقة التعريف
بطاقة التعريف الوطنية|الهوية|هوية|رقم الهوية|الرقم الوطني|کد ملی|شناختی کارڈ|ת.ז.|ת.ז|תעודת זהות|αμκα|αδτ|आधार
आधार संख्या|पैन|เลขประจำตัวประชาชน|身份证|身份证号|身分證|マイナンバー|주민등록번호|imei|imsi|iccid|vin|sha1|md5|crc
hash|uuid|zip|zip code|zip+4|postcode|postal code|post code|code postal|código postal|postleitzahl|plz
почтовый индекс|индекс|الرمز البريدي|מיקוד|पिन|पिनकोड|รหัสไปรษณีย์|邮编|郵遞區號|郵便番号|우편번호
art. imp|article d'imposition|art. imposition|processo|proceso|procès|księgi wieczystej|cpv|p.o. box|po box|b.p.
product code|code produit|código de producto|código do produto|produktcode|artikelcode|produktkod|tuotekoodi
kod produktu|kód produktu|termékkód|cod produs|код товара|код товару|код на продукта|ürün kodu|kode produk|mã sản phẩm
codice prodotto|κωδ. προϊόντος|κωδικός προϊόντος|κωδ|מק"ט|رمز المنتج|كود المنتج|کد محصول|商品コード|商品番号|상품코드
상품번호|产品编号|商品编号|货号|รหัสสินค้า|folio fiscal|folio|boleto|linha digitável|lotto|loto
euromillions|bingo|keno|lottery|loterie|lotería|lotterie|tombola|powerball|winning numbers|numéros gagnants|лото
лотерея|λόττο|لوتو|اليانصيب|הגרלה|लॉटरी|หวย|ลอตเตอรี่|开奖号码|開獎號碼|彩票|当選番号|로또|당첨번호
"""
# Words after which a number is a phone, whatever it begins with.
PHONE = """
tel|tél|tel.nr|nr tel|telef|telefon|telefone|telefono|teléfono|telephone|téléphone|telefoon|telefoonnummer|telefonu
phone|phones|mobile|mobil|móvil|llámame|llámanos|llamar|llama|handynummer|mobilnummer|telefonnummer|telefonnr
telefonas|zadzwoń|hubungi|hubungi cs|telepon|no hp|nomor hp|wa|wsp|zap|zalo|جوالي|热线|熱線|微信同号|ｔｅｌ|liga
ligue|fone|chiamare|chiama|cell|cel|celular|cellulare|handy|gsm|fax|whatsapp|watsap|lwatssap|wtsp|wasap|ph|tfno|tlf
tels|téléphones|telephones|teléfonos|telefonos|telefones|telefoni|telefony|telefoane|telefonlar|telefonnummern
telefoonnummers|handynummern|mobiles|móviles|celulares|cellulari|contacts|contactos|contatos|هواتف|الهواتف|телефони
τηλέφωνα|טלפונים
tlfn|điện thoại|liên hệ|nmerti|nmra|call|appelez|appeler|appelle|contact|contact no|home|home phone|landline
numero verde|número verde|numéro vert|tổng đài|hotline|helpline|toll free|portable|fixe|num|durchwahl|erreichbar
anrufen|rückruf|festnetz|teléfono de contacto|contacto|contato|kontakt|kontaktowy|kom|komórka|puh|simu|cep|gọi|sđt
هاتف|الهاتف|هاتفي|تلفون|التلفون|تليفون|التيليفون|جوال|الجوال|موبايل|محمول|المحمول|نقال|النقال|واتساب|واتس|فاكس|نمرتي
نمرة|تلفن|موبایل|همراه|شماره تماس|فون|فون نمبر|موبائل|رابطہ|اتصل|للاتصال|للتواصل|خط|الخط|رقمي|كلمني|عيط ليا|тел
телефон|телефону|телефона|телефоны|тел/факс|моб|мобильный|мобільний|сотовый|факс|вотсап|ватсап|вацап|вайбер|звоните
звонить|звони|позвоните|дзвоніть|телефонуйте|байланыс|телефон за връзка|τηλ|τηλέφωνο|κινητό|κιν|φαξ|νούμερο|καλέστε
κάλεσε|טלפון|טל|נייד|פקס|התקשרו|תתקשרי|תתקשר|וואטסאפ|ווטסאפ|फ़ोन|फोन|मोबाइल|व्हाट्सएप|व्हाट्सऐप|वॉट्सऐप|संपर्क|कॉल
ফোন|মোবাইল|কল করুন|যোগাযোগ|โทร|โทรศัพท์|เบอร์|เบอร์โทร|มือถือ|ติดต่อ|电话|電話|手机|手機|致电|请拨打|拨打|联系
联系方式|聯絡|座机|市話|客服|微信|传真|傳真|電話番号|携帯|連絡先|お問い合わせ|ご予約|전화|전화번호|휴대폰|핸드폰
연락처|연락|문의|팩스|카톡|ტელ|მობ|ტელეფონი|ስልክ|հեռ|հեռախոս|☎|📞|📱|📲|✆|🕿
"""
# Words between a label and its number: "phone number is", "call me on".
AFTER_LABEL = (
    "house|number|no|nr|num|n°|id|is|was|code|numéro|número|numero|nummer|est|ist|lautet|es|é|è|the|with|de|der|die"
    "|номер|номера|رقم|هو"
)
AFTER_PHONE = (
    "number|numbers|no|nr|num|n°|is|ist|unter|me|us|on|at|le|la|au|al|est|es|по|номеру|номер|στο|είναι|μου|على|بي|بنا|رقم|نمبر"
    "|नंबर|नम्बर|करें|নম্বর|号|号码|號碼|番号|は|是|하세요|주세요"
)
# Words between two numbers of one person: "call 06... or 07...".
AND = (
    "or|and|ou|et|o|y|e|oder|und|of|en|eller|och|lub|veya|ve|atau|dan|hoặc|или|и|або|та|ή|και|أو|او|و|یا|או|या|বা|หรือ"
    "|或|和|または|또는|aw|ow|w|wla|wala|wela|ya|o si no|o sino|o bien|ou sinon|ou bien|ou alors|or else|oder auch"
    "|ou então|oppure|of anders|або ж|или же|ወይም"
)
