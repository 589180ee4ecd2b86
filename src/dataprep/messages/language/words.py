"""Words and parts of words that distinguish Darija, Arabic, French and English in short messages.

Words and weights were written by hand for this project, and tuned on one half of the texts of docs/chats-safety.md.
A word that two languages share equally is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

LABELS = ("ary", "ar", "ary_Latn", "fr", "en")
STRONG, WEAK, NONE = 6, 3, 0  # points of a listed word: rare in the other languages, or not
PART, HINT = 3, 1  # points of a part of a word that is not listed

# For each label the words that are rare in the others, and those that are not. An apostrophe ends a word: l', don'.
WORDS = {
    "ary": ("""
واش ديال ديالو ديالي ديالك ديالها ديالنا ديالكم ديالهم ديالهوم دياله بزاف دابا دبا هاد هادا هادي هادو هادشي هاذ هاذي
هذشي هاك هاداك هاديك هادوك داك ديك دوك شي شنو شنوا شنهو اشنو أشنو شكون كيفاش علاش فاش فوقاش فين امتى ايمتا قداش شحال
باش حيت حتا غادي غاديين غاد راها راهم راهوم رانا راني راك راكم ماشي مشي كاين كاينة كاينا كاينين مكاينش ماكاينش مكاين
بغيت بغا بغات بغاو بغينا بغيتي كنبغي كنبغيك نبغي تبغي مبغيتش خاص خاصك خاصنا خصنا خصك خصني خاصو خصو خصها نتا نتي انتا
انتي نتوما حنا احنا هوما حنايا مزيان مزيانة زوين زوينة زوينين خايب خايبة بحال بحالي بحالك بحالو كلشي والو والوو واخا
وخا يالاه يلاه يلا صافي صافيي سير سيري اجي آجي جا جات جاو جيت جيتي مشيت مشا مشات مشاو درت دارو دارت دير ديري ندير
تدير يدير نديرو ديرو كيدير كندير كتدير كيديرو كنديرو شفت شافت شافو شوف شوفو شوفي كنشوف كيشوف هضر هدر كيهضر كيهدر
تهضر نهضر هضرة هدرة كنهضر عندو عندك عندها عندنا عندهم معندوش ماعندوش معنديش ماعنديش معندهم فلوس خدمة الخدمة خدام
خدامة خدامين كنخدم كيخدم تمارة حوايج الدار دراري الدراري الدري البنات لبنات لبنت لعيالات العيالات راجل مرا لمرا
مراتو خويا خوتي ختي صاحبي صاحبتي الواليد الواليدة ولاد وليدات ولدي بنتي حومة الحومة زنقة كدوب كذوب عيان عيانة عيينا
فرحان كنتمنى كنتمناو العز الزوينة بصح بصاح مسكين مسكينة مساكن ياك اه اييه ايه اهاه وي هههه ههه ههههه برافو الكورة
كورة الرجا الوداد وخاصك وبزاف وهاد وماشي وكيفاش وعلاش اللي لّي ليهم ليا فيهم تا بلا بلاما بعدا عاد تاني نيت زعما
زعمة باينة باين بانلي كيبان كيبانلي نوض نعس كنعس خلي خليني خليه خليها عطيني عطيه عطي عطا هز هزو قاليك قالك قالي
كنقول كيقول كيقولو كتقول كنقولو قولو كنعرف كيعرف معرفتش ماعرفتش عرفتي عمرني عمرو كاملين بوحدو بوحدي غدا غدّا لبارح
البارح ليوم لهيه تما ثما هنايا برا الطوموبيل طوموبيل الطاكسي الكار التران لكار بيرو الما لحم حوت اتاي أتاي بنادم
لينا ليكم هدا هدي هداك وايلي ويلي حييت كامو كلامو شكووون آش اش أش ڭاع كاع گاع فيهوم ليهوم بيهوم داكشي داكشى لداك
بهادشي لهادشي كاتقول كايقول تيقول تيدير تندير تيقولو كايكون كيكون كتكون كنكون تيكون غايكون غيكون غنكون غتكون جاب
جابو جيب جيبي طاح طاحت ضربو حدا حداه حداها معايا هاهو هاهي هاهية اسي اصاحبي اخويا اختى بقا بقات بقاو باقي عاود
عاوتاني تاواحد حتاواحد شحد شيحد طاجين كسكسو سمحلي عفاك عافاك لعزيز مشكل لمشكل المشكيل مغاربة لمغاربة لمغرب بلادنا
لبلاد ناس هادوما فهاد فهاذ بهاد لهاد منهاد كيما بينا عليا معاك معاه معاها معاهم معانا نتاع تاع متاع متاعنا اودي اوا
ايوا ايوة اويلي تفو حشومة حشومه مسخوط القوادس الشفارة شفارة شفار كيسرق سرقو كفاش كفايش منين قدام موراه مورا دغيا
بشوية شوية شويا بزااف بزااااف مخيرين مجهد قاصح ساهل واعر واعرة واعرين ناضي غزالة حقاش مول لالة عايشين كيعيش نعيشو
كتموت كيموت عييت كرهت تقهرنا مقهور حگرة الحكرة حكرة فقصة نفقص ضحكتيني ضحكني كنضحك كيضحكو طز بوس باز
""", """
كان راه حتى غير دار عندي لي هما هذا اختي عمري كامل ليك ليه فيك والله ولا لا انا انت الزين تبارك كلهم هنا
"""),
    "ar": ("""
التي الذي الذين اللذين اللواتي هذان هؤلاء ذلك تلك أولئك لقد قد سوف إن لأن كأن إلى منذ حيث ثم لكن لكنه لكنها عندما
بينما حينما حين ليس ليست ليسوا لم لن لما إذا إذ لو بعدما يجب يمكن يمكنك يمكنه كانت كانوا نكون سيكون ستكون أكثر أقل
حول خلال نحو ضد عبر لدى لديه لديها لديك لدينا أي أية أيضا أيضاً جدا جداً كثيرا قليلا حاليا سوى رغم إليه إليها إليك
إلي منهم عنه عنها عنهم لهم لكم لنا بها بهم بأن بأنه أنه أنها أنهم أنت أنتم نحن هن وهو وهي وهم وهذا وهذه وذلك وقد
ولقد ولم ولن وليس وإن وأن فإن وكما ماذا لماذا متى أين هل كلها بعض أحد إحدى غيرها ذات قال قالت يقول تقول قالوا وقال
وأضاف وأكد أكد رئيس الرئيس الوزراء الحكومة مجلس المجلس القانون السيد السيدة الدولة الدول العربية العالم الثاني
الثانية الأولى أمس غدا السنة العام مما ممن عما فيما إنما كلما ربما طالما إنه إنها إننا إنني لأنه لأنها بدون دون حتى
بسبب بعيد قريب أجل شيء شيئا الجميع الحياة النجاح التوفيق مباراة المباراة اللاعب اللاعبين اللاعبون الفريق المدرب
الجمهور الأداء أداء الموسم النتيجة رائع رائعة جميل جميلة ممتاز ممتازة هنيئا تحياتي تحية بارك يبارك رحمه رحم يرحمه
وفقكم وفقك يوفق يوفقكم جزاك جزاكم يجزيك يحفظك أتمنى نتمنى أرجو نرجو أريد نريد يريد تريد أعتقد أظن أحب تحب استطاع
يستطيع تستطيع أستطيع
""", """
المغرب الله اللهم والله الناس كان شكرا صراحة بصراحة حقا تبا ولكن ولا اليوم معقول ضروري من عن على في مع هو هي أنا كل
قبل بعد نفس ما كما كيف بين أو أن هم به لها له عليه عليها عليهم فيها فيه مثل عام يكون تكون جميع دائما مبروك يحب نحب
هذا هذه أول الأول منه منها فقط
"""),
    "ary_Latn": ("""
wach wash wax wesh nta nti ntina ntouma hna hnaya homa huma howa hya hiya ana ash chno chnou chnu chnowa achno
achnou ashno shno shnu achmen ashmen kifach kifash kifah 3lach 3lash 3lah finek fayn mnin mnine imta imtach fo9ach
fuqash ch7al chhal sh7al shhal bch7al bach bash bax 7it 7ta hta ghadi gadi ghadya ghadyin ghir ghi rah raha rahom
rani rak raki rana rakom machi mashi mchi mashy kayn kayna kaynin kayen kain kaina makaynch makainch makaynsh bghit
bghiti bgha bghat bghaw bghina nbghi tbghi mabghitch mabghitsh baghi bagha baghya khas khass khassni khasni khassek
khask khassna khassha khasso 5ass khaso dyal dial dyali diali dyalo dialo dyalk dialk dyalek dyalha dialha dyalna
dialna dyalhom dialhom dyalkom diyal bzaf bezaf bzzaf bezzaf dab daba deba dabaa had hadi hada hado hadchi hadshi
hadak hadik dak dik duk shi chwia chwiya chwya shwiya mzyan mzyana mzian mezyan mziane mezian zwin zwina zwine zouin
zwinin zwinine khayb khayba bhal b7al b7alk bhalek kolchi kulchi kolshi kulshi kolxi walo walou walu waloo wakha
wakhaa okha wakkha yallah yalah yallh yalla safi safii safy sir siri aji ajiw ja jat jaw jit jiti mchit mchiti mcha
mchat mchaw dert dirt darou dir diri ndir tdir ydir dirou diro kaydir kandir katdir chft chefti chouf chof choufi
shuf shouf hder hdar kayhdar kanhder tanhder hadra 3ndi 3ndo 3ndou 3ndha 3ndhom 3ndna 3ndk 3ndek 3andi 3ando 3andek
3andha endi endo flous flouss floss fluss khdma khedma lkhdma khdam khddam khdama hwayj 7wayj ddar ldar drari lbnat
bnat bnt bent lbent lwld lweld weld wld wlad oulad khoya khouya khuya khti khty sahbi sa7bi sa7bti sahbti lwalid
lwalida walida bs7 bsah bse7 meskin mskin mskina yak iyeh iyyeh lla lawah lmohim mohim muhim hhhh hhh hhhhh w f b d
l lli llay liya lik lih liha lihom fiya fik fih fiha fihom 3lik 3liya 3lih 3liha m3a m3ak m3aya m3ah m3aha m3ana maa
tani nit za3ma zaama zema banli kayban nod nood n3as n3ess khli khlini khelli 3tini 3tih 3tina hezz gol golt galk
galek gali goul goulha golih galo galou glt gult kangol kaygol kaygolo kangoul kn3rf kan3raf kay3raf ma3raftch
ma3reftch 3raf 3rafti n3raf t3raf 3omri 3omro 3mri kaml kamel kamlin kolhom bo7di bouhdo gha ghda ghedda lbare7
lbareh lyoum lyom lioum lyouma hnak lhih tma temma tmma barra brra tomobil tonobil lma l7em atay lqahwa l9hwa l9ahwa
khobz smhli sme7 sme7li smehli 3afak 3afakom afak chokran shokran chukran hamdollah lhamdolilah l7amdolilah
lhamdullah hmdlh inchallah nchallah bismillah salam slm salamo 3alikom slama bslama bsslama labas labass lbas labes
kidayr kidayra kidayer kidair kirak kiraki mabrouk tbarkallah tbarklah wlh wllah wallah walah wellah wallahi lah
lla3 ya3ni yani yaani 7na 7naya 7bibi hbibi 7biba a3chiri 3chiri zin l3ez l3zz 9lb 9elb 9albi galbi mn mni mnk mnek
mnha mnhom mnhoum 3la 3and 3nd wst wesst t7t te7t fo9 foug 9dam 9oddam 9bl 9bel 9be3 ba3d mor moraha dghya deghya
dghia waer wa3r wa3er wa3ra na9i nadi ghzal ghzala 7chouma hchouma hshuma 7ram hram m3a9el m3akl s7ab shab sf skhon
bared berd chta shta sif lil nhar lila sba7 sbah l3chia l3chiya l3achiya 3chiya lsba7 dima dimaa daymen daiman 7aja
haja haga 7ajat hajat wa7d wahd wahed wa7ed we7da wahda juj jouj joj tlata rb3a khmsa stta sb3a tmnya ts3od 3chra
gelt kenna kant kanet kano kanou kont kount knt knti konti kantmna kantmana tkon tkoun ykon ykoun nkon nkoun ikon
ikoun yakhod yakhud kbir kbira sghir sghira jdid jdida 9dim 9dima twil twila ghali ghalya rkhis rkhissa bnin bnina
7lwa helwa s3ib s3iba sahl sahla far7an fer7an 3yan 3yana mrid mrida nas nass lwa9t lwaqt wa9t wqt mochkil mouchkil
mochkila moshkil lmoshkil l7ayat denya dnya ddenya lmaghrib lmghrib maghrib mgharba lmgharba rajl rajel mra lmra
mrat 3yalat l3yalat hakda haka hakka hakdak tta ta9ni ghalat ghalt nchouf nchof nchofo chftk chftha tsnna tsenna
tsna ntsna kantsna sowel sewel sawel jawb jaweb wa akhay awdi awddi ewa iwa aywa
""", """
la li chi fin hit kan dar ban o fine ach zine hata allah hayat mama baba kho
"""),
    "fr": ("""
je tu il elle nous vous ils elles le les un une des du au aux et où est es suis sommes êtes sont était étaient étais
été être avoir ai avons avez ont avait avaient fait faire fais faites vais vas vont aller peux peut pouvez peuvent
pouvoir veux veut voulez vouloir dois doit devez falloir faut ne pas jamais rien que qui quoi dont quand comment
pourquoi combien quel quelle quels quelles ce cet cette ces mon mes ton tes ses notre nos votre vos leur leurs moi
toi lui eux dans sur sous avec sans pour par chez vers depuis pendant avant apres donc alors aussi ainsi encore
toujours déjà deja très tres trop beaucoup peu mieux moins ici ailleurs maintenant aujourd aujourd' hui demain hier
soir matin jour jours semaine mois année heure heures temps merci bonjour bonsoir salut bonne bon oui ouais voila
voilà d'accord accord svp stp désolé desole pardon excusez tout tous toute toutes autre autres même meme chaque
quelque quelques plusieurs aucun aucune vraiment peut-être oublie chose choses homme femme enfant enfants maison
travail école vie gens mère père frère soeur ami amis amie amies voir vois savoir sais sait prendre prends pris
mettre dire dis dit parler trouver donner besoin envie grand grande petit petite nouveau nouvelle beau belle premier
première l' d' j' c' n' s' m' t' qu' jusqu' lorsqu' ça cela ceci celui celle ceux mdr ptdr slt bcp pk pq tkt jsp jpp
fichier fichiers paquet paquets commande commandes système utilisateur utilisateurs suivant suivante permet noyau
paramètres utiliser utilise chapitre exemple configurer vérifier installer supprimer afficher créer ajouter liste
serveur réseau disque clé sont-ils deux trois quatre cinq sept huit neuf dix cent lequel laquelle à de
""", """
la ou ca bien mal plus si mais car ma ta sa son as en se y me te ans non nuit mot passe entre juste cv fine
"""),
    "en": ("""
the i you he she it we they is are was were been being has had do does did will would can could should shall might
must not and but if because that this these those there here what who whom which when where why how my your his her
its our their him us them of to at by for with from about into over after before under between through up down out
off again then than too very just only also even still ever never always often more most much many some any yes yeah
yep nope okay please thanks thank hello hey bye good morning today tomorrow yesterday now day days week year years
time times people man woman women child children boy girl house home work school life world thing things way go
going goes went gone come coming came get getting got make making made know knows knew think thinks thought see saw
seen want wants wanted need needs let look looking take taking took give gave tell told say says said ask asked find
found feel felt leave left keep kept help try trying call called love like likes liked dont don' didn' doesn' isn'
wasn' can' won' wouldn' couldn' it' i' he' she' you' we' they' that' what' let' there' who' ain' im ur lol lmao omg
btw idk thx pls gonna wanna gotta great nice best better bad big small little new old long first last next same
other another every each own really maybe sure right wrong sorry happy sad beautiful money food water friend friends
brother sister mother father family why' file files package packages command commands system use used using user
users following install installed list output input line lines given default directory server network disk password
name names two three four five six seven eight nine ten hundred thousand where's whether while without within during
since until although though however god once both few such nothing something everything anything someone everyone
anyone
""", """
a me in on no or so hi an as be one all u am men have
"""),
}  # fmt: skip

# Brands, units and file types: words without points although their digits look like letters.
NEITHER = """
mp3 mp4 h264 1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 2h 3h 5h 7h 9h 2g 3g 4g 5g 2d 3d b2b p2p v2 v3 x86 i386 amd64
arm64 utf8 h2o co2 covid19 3x 2x 5x f1 a4 a3 3km 5km 2km 3kg 5kg 2s 3s 5s 2m 3m 5m 3pm 5pm 7pm 9pm 2pm 3am 5am 7am
9am 2am wifi whatsapp facebook instagram youtube google linux debian http https www com org net html pdf tv ok
"""

# Two consonants that French and English words begin with; any other pair is Arabizi: lblad, mchit.
ONSETS = """
bl br by ch cl cr ct cy cz dr dw dy fl fr fy gh gl gn gr gy hy kl kn kr ky ll ly mn my ny pf ph pl pn pr ps pt py qu
rh ry sc sf sh sk sl sm sn sp sq st sv sw sy sz th tr ts tw ty tz vl vr vy wh wr wy xy zh zy
"""
CONSONANTS = "bcdfghjklmnpqrstvwxz"
DIGITS = {"3": 4, "7": 4, "9": 4, "2": 2, "5": 2, "8": 1, "6": 1}  # ain, ha, qaf, hamza, kha: points by a letter

# ^x begins a word, x$ ends it, x is anywhere in it: parts with PART points, and with HINT points.
PARTS = {
    "ary": ("""
ڭ پ ڤ گ چ اوو ^كاي ^كات ^كان ^كي ^كت ^كن ^تات ^تاي ^غاي ^غات ^غان ^غن ^غي ^غت ^مك ^مت ^مب اتش$ وش$ يش$ تش$ نش$ حش$
هش$ ^تي ^ماك ^مات ^ماب ^ماع ^مام لهم$ لوم$ ناش$ ^هد ^هض ^لي ^لم ^لب ^لك ^لع ^لح ^لق ^لخ ^لط ^لد ^ديا ^نت ^نك ^نش ^نم
^نخ يتي$ ليا$ ووو ييي ااا ههه ديا وني$ يني$ وها$ ^بغ ^بلا ^فل ^فه ^مي تيت او$ اوه$ اوها$ يو$
""", """
^تن ^لف ^نو ينا$ ليه$ تو$
"""),
    "ar": ("""
ً ّ ٍ ٌ ِ ُ َ ْ ^أن ^إن ^إ ^است ^الإ ^الأ ^الاس ^وال ^بال ^فال ^كال ^سي ^ست ^سن ^سأ ^لل ^يت ^ين ^تت ^وأ ^وإ ^فإ ئ ؤ
ء$ أ إ ية$ ون$ هما$ كما$ اء$ ائ اً$ ^مؤ ^مت ^يج ^يس ^تس ^نس تها$ ته$ نه$ كم$ ى$ ذ ظ ث
""", """
^الت ^المس ^والم ات$ هم$
"""),
    "ary_Latn": ("""
kh ^gh gh$ ^ka ^kay ^kan ^kat ^kai ^ta7 ^mab ^mak itch$ atch$ ouch$ nach$ tch$ aa ii uu iy iya$ iyya ayn oum$ hom$
houm$ kom$ koum$ iw$ iti$ ch7 kt$ bt$ mt$ yt$ wt$ dh zz hh ^tt ^ll ^bb ^rr ^nn qa qe qi qo ^ya ^yi dj ouk$ hal aha$
iha$ oha$ ouh$
""", """
^mat ich$ och$ ach$ oua wa ek$ ak$ ik$ ou$ aw$ ti$ lt$ rt$ ft$ ght$ it$ mm dd ^ss ^lo ^yo ^ye na$ ni$ ^ba ^bi
"""),
    "fr": ("""
é è ê ë à â ç ù û î ï ô œ eau eux$ aux$ ment$ ique$ iques$ ette$ elle$ elles$ ez$ ais$ ait$ aient$ oir$ oire$ ois$
oit$ ieux$ euse$ eur$ eurs$ rait$ ée$ és$ ées$ ux$ que$ ille$ isse
""", """
tion$ sion$ ons$ oi ai eu ^qu gn ance$ ence$ age$ ure$ ess
"""),
    "en": ("""
^th th$ ing$ ght$ ^wh ed$ ly$ ness$ ful$ less$ ould ck ee oo ew$ ey$ ^wr ^kn ers$ ies$ ough sh$ ity$ ous$ ght dge$
rst$ nds$ lls$ ings$
""", """
tion$ sion$ ow ay$ ea ^str able$ ment$ ance$ ence$ tch$ ^un ^re er$
"""),
}  # fmt: skip


def features() -> Iterator[tuple[str, str, int]]:
    """Yield (part, label, points) for every word and part of a word in this file; a label is a language.

    A part is a whole word (^word$), a beginning (^ab), an end (ab$), or occurs anywhere (ab).
    """
    for label, listed in WORDS.items():
        for words, points in zip(listed, (STRONG, WEAK), strict=True):
            yield from ((f"^{word}$", label, points) for word in words.split())
    yield from ((f"^{word}$", LABELS[0], NONE) for word in NEITHER.split())
    for label, listed in PARTS.items():
        for parts, points in zip(listed, (PART, HINT), strict=True):
            yield from ((part, label, points) for part in parts.split())
    onsets = set(ONSETS.split())
    pairs = (a + b for a in CONSONANTS for b in CONSONANTS if a != b)
    yield from ((f"^{pair}", "ary_Latn", PART) for pair in pairs if pair not in onsets)
    for digit, points in DIGITS.items():
        for letter in "abcdefghijklmnopqrstuvwxyz":
            yield from ((part, "ary_Latn", points) for part in (digit + letter, letter + digit))
