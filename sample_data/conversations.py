"""Messages of the sample chats; every name, number and event is invented.

A conversation begins with `@` and its first minute. A message is its author's initial and the text; `/` begins a new
line in it, `^2` before the initial answers the message two before, `!image` (and so on) is a message of another kind,
`#` is a line of the platform, `~` marks a message that was edited.
"""

from __future__ import annotations

PEOPLE = {
    "I": "Ilse Varga", "T": "Tomas Orr", "N": "Noor Telle", "M": "Marek Lund", "G": "Greta Moss", "O": "Oriel Hart",
    "F": "Nadia Ferroul", "K": "Karim Ouzane", "S": "Samira Belqour", "Y": "Youness Adrar",
}  # fmt: skip

# One notice each, as it goes from chat to chat: a word, emoji, a header or a link differs.
MARKET = [
    "Attention : le marché du mardi déménage sur la place du vieux four, à partir de la semaine prochaine, dès 7 heures.",
    "⚠️ Attention : le marché du mardi déménage sur la place du vieux four, à partir de la semaine prochaine, dès 7 heures !!",
    "Attention: le marché du mardi déménage sur la place du vieux four à partir de la semaine prochaine, dès 8 heures. https://example.org/marche",
]
FERRY = [
    "Please note that the evening ferry to Pell Island will not run from Monday to Thursday, because the pier is painted.",
    "FYI: Please note that the evening ferry to Pell Island will not run from Monday to Thursday, because the pier is painted 🛥️",
    "Please note that the evening ferry to Pell Island will not run from Monday to Friday, because the pier is painted. Tell everybody!",
]
ROADS = [
    "تنبيه: الطريق ديال الواد مسدودة غدا من الصباح حتى للعشية بسبب الأشغال، دوزو من طريق الغابة.",
    "⚠️ تنبيه: الطريق ديال الواد مسدودة غدا من الصباح حتى للعشية بسبب الأشغال، دوزو من طريق الغابة ⚠️",
]

FAMILY = f"""
@2024-03-04 18:05
# Les messages et les appels sont chiffrés de bout en bout. Aucun tiers, pas même WhatsApp, ne peut les lire ou les écouter.
F Salam tout le monde, chkoun jay l3cha lyoum ?
K ana jay m3a 8, jib m3aya chi haja ?
F jib lkhobz 3afak, w chi 7lib
S moi je viens plus tard, j'ai cours jusqu'à 19h
Y wakha, kanchoufkom f dar
F mrhba bikom kamlin ❤️
@2024-03-05 07:40
S sbah lkhir, chkoun khda sarout dyal tomobil ?
Y machi ana hhhhhhhh
K ana, nsito f jib, smhi liya 😅
S K3ima !!! ghadi nt3attel 3la lkhdma
K rani jay daba, 5 d9ay9
S safi, kantsennak l taht
@2024-03-09 11:20
F {MARKET[0]}
Y merci maman, je passe mardi pour les olives
F chri liya 2 kilo, machi dok lkbar
Y hadok l khdar wla l k7al ?
F khdar, w chwiya d l7amed mssyer
Y 3lach la 🙂
!image F
F hado li bghit, bhal hado
@2024-03-15 21:30
K chkoun kaytfrej f lmatch ?
Y ana, wa3er hadchi 😂😂😂
S moi aussi, quel but !!!
K hhhhhhhhhhhh lgardien dyalhom kan na3es
Y mdrrrrrr
S arrêtez, je suis au travail et je ris toute seule 😂
!sticker K
@2024-03-22 12:15
F n'oubliez pas, samedi on fête les 70 ans de jeddi
S j'apporte le gâteau, au chocolat ou aux amandes ?
K aux amandes, jeddi ma kay7melch chocolat
Y ana ghadi njib l3asir
F le numéro du traiteur : 06 39 98 44 17, appelez avant jeudi
K je l'appelle demain
!deleted Y
Y pardon, mauvais groupe
@2024-03-29 19:02
S 9ribin nsaliw, ch7al d nas jayin ?
F 23 personnes inchallah
K w kraassa ? 3endna ghir 15
Y njib 8 men 3end sa7bi
F Allah ykhellik a Youness 🙏
!call K
@2024-03-30 10:10
S le gâteau est prêt 🎂🎂
F tbarkellah 3lik a bnti
!image S
Y zwin bezzaf !!
K khellih 3endek, ma t7ettihch f chems
@2024-04-01 20:45
F merci à tous pour samedi, jeddi était très content
S c'était magnifique, surtout la chanson de Karim 😂
K kanghenni mzyan, 3lach kat dahki
Y ma kayn la mzyan la walo hhhhh
@2024-04-08 08:30
F chkoun 3endo double dyal sarout dyal lbit ?
S moi, je le laisse chez la voisine
F wakha, 3ndak tnsay
@2024-04-13 17:55
Y nja7t f lpermis !!!!!!
S félicitations mon frère 🎉🎉🎉
K mabrouk a weld khti, daba nta li ghadi tsoug bina
F mabrouk a wlidi, Allah y7efdek 🥹
Y safi, ghedda ndiw jeddi l b7er
F écris-moi à nadia@example.org pour les papiers de l'assurance
@2024-04-21 13:05
S il pleut chez vous aussi ?
K bezzaf, zn9a kolha lma
Y ana f lkhdma, ma chft walo
S vivement l'été ☀️
@2024-04-28 22:10
K ghedda 3tla, fin ghadin ?
F à la montagne, si la route est ouverte
K wakha, nfi9o bkri m3a 6
Y m3a 6 ??? hhhhhhh la choukran
"""

NEIGHBOURS = f"""
@2024-05-03 09:12
# الرسائل والمكالمات مشفرة تمامًا بين الطرفين، بحيث لا يستطيع أحد خارج هذه الدردشة، ولا حتى شركة واتساب نفسها، قراءتها أو الاستماع إليها.
S صباح الخير على الجيران كاملين
K صباح النور، كيف داير الحال اليوم؟
S بخير الحمد لله، واش الما مقطوع عندكم حتى نتوما؟
Y إيه، مقطوع من الفجر، قالو غادي يرجع مع الضهر
F عندي جوج قراعي د الما، اللي محتاج يدق عليا
S الله يكثر خيرك أ نادية 🙏
@2024-05-03 12:40
Y الما رجع، الحمد لله
K شكرا يونس على الخبار
!image Y
Y شوفو هاد التصويرة، الزنقة كاملة ولات بحال الواد
@2024-05-06 18:22
F شكون شاف القط ديالي؟ رمادي وصغير، خرج من البارح
S شفتو حدا الحانوت ديال با علي
F عفاك إلا شفتيه مرة أخرى عيطي ليا
K هههههههههه راه ناعس قدام الباب ديالي
F الله يهديك يا مشماش 😂
!video K
@2024-05-11 20:15
Y {ROADS[0]}
K واخا، شكرا بزاف
S مزيان اللي علمتينا، كنت غادي ندوز من تما
@2024-05-17 15:30
F اجتماع سكان العمارة يوم الأحد على الساعة الخامسة مساءً في القاعة الأرضية
F سنناقش إصلاح المصعد وتنظيف السطح وصندوق المساهمات
K سأحضر إن شاء الله
S وأنا أيضا، هل يمكن أن نبدأ في الرابعة؟
F نعم، الرابعة أفضل للجميع
!deleted Y
@2024-05-19 21:05
K شكرا لكل من حضر، كان اجتماعا مفيدا
S نلخص القرارات: إصلاح المصعد قبل الصيف، وتنظيف السطح كل شهر
Y ومن سيتصل بالشركة؟
K أنا، رقمهم 0639981234
Y ممتاز
@2024-05-24 10:00
F {ROADS[1]}
S آمين، جمعة مباركة على الجميع
@2024-05-29 23:40
K شكون كيدق فالحيط فهاد الليل؟
Y سمحو ليا، كنصاوب الماريو، ساليت
K هانية، غير بشوية
"""

CYCLING = f"""
@2024-04-02 17:31
# create_group
T Welcome to the cycling club, everybody. First ride on Saturday?
N Yes! Which way, along the canal or over Drumlin Cross?
G Canal, please, my knees are not what they were
^2 M Drumlin Cross, and the canal on the way back
T Both then. Eight o'clock at the tram depot.
N I will be there at eight, or at ten past
G That is why we say eight 😄
@2024-04-05 19:03
M My chain is gone again, does somebody have a spare link?
O I have two, for nine speeds
M Nine is right. You save my weekend, Oriel!
^1 O Bring cake
!photo M
M This is what it looks like now
@2024-04-06 13:48
N Forty-one kilometres, and it only rained twice 🚴
T The second time was hail
G The inn at the end had lentil pie, so nobody complained
!sticker N
~ M I counted 43 km, with the detour
^4 O Twice? I was wet four times
@2024-04-11 20:12
!poll T
N The lighthouse, who would not vote for the lighthouse
G I voted for the orchard road, it is flat
M How flat?
G As flat as your tyre last Saturday 😂😂
M hahahahahaha
@2024-04-18 07:15
T {FERRY[0]}
N So we take the bridge, or we go on Friday
O Friday after work, before the wind comes
T Friday it is
@2024-04-19 16:58
!location O
O I am here, under the clock
N Two minutes, Oriel
!voice N
G Look behind you
@2024-04-27 22:20
N I made a list of what we spent: 12 for the tea, 8 for the link, 30 for the ferry
T Send it to club@example.org, please, I forget everything that is in chats
N Done
!call T
@2024-05-09 18:40
M Who wants my old saddle? It is free, and it squeaks
G I do not want it even with money
O Give it to me, I have a chair without a seat
M A chair that squeaks, that is what this club needs
N Noor the second, we call it
T 😂
@2024-05-25 06:05
T Is anybody awake? The light over Fernmouth is pink
N I am. I see it from the kitchen
O Now I am, too
"""

TRAIN = """
@2024-06-01 21:10
I Did you get seats in the night train?
T Two, at the window, wagon 11
^1 I Then I bring the soup and you bring the cards
T The cards are already in the bag
I <b>Do not</b> forget the tickets & the passport
T 1. tickets, 2. passport, 3. soup, 4. Ilse
I In that order?
T In alphabetical order it would be worse
@2024-06-02 05:55
I We are over the border, the fields are white
!photo I
T I slept, did we stop at Aldenfeld?
I For an hour. A man with a goat got on
T You made that up
^1 I The goat has a ticket
"""

KITCHEN = f"""
@2024-06-10 12:01
O What did you cook today?
G Bean stew, again, the garden is full of beans
M I could take some
G How many kilos?
O A bag
@2024-06-10 18:33
G The bag is at the gate
!image G
M Thank you, Greta! I bring plum jam for it
@2024-06-17 19:20
M The jam did not set
G Then it is syrup. Syrup, too, is good
O On pancakes it is even better
O {FERRY[2]}
M I call you about the sugar
!call M
G One kilo, one kilo, it is in every book
"""

PAIR = f"""
@2024-02-12 20:01
N Tu as reçu la clé de l'atelier ?
M Oui, elle était sous le pot de fleurs 🌷
N Parfait, on commence demain à 9h
M À demain, Noor
@2024-02-13 09:25
M Je suis devant la porte, elle est fermée
N J'arrive, le tram est coincé à Quietwater
M Pas de problème, il y a un café à côté ☕
N Prends-moi un thé, s'il te plaît
!photo M
M C'est fait, il est très chaud
@2024-02-20 18:44
N On a vendu trois chaises aujourd'hui !
M Trois ? À qui ?
N À une dame très élégante, elle revient samedi pour la table
M Alors il faut finir la table 😬
N Il reste un pied et le vernis
M Un pied, c'est beaucoup pour une table
N 😂😂
@2024-03-01 22:15
N {MARKET[1]}
M Ah, c'est plus près de l'atelier
N Oui, on pourrait y vendre les tabourets
!unsent M
@2024-03-12 08:05
!audio N
M J'ai pas compris, il y a trop de bruit
N La facture du bois est arrivée : 340 euros
M C'est moins que prévu, tant mieux
N J'ai écrit au marchand, marchand@example.org, il répond vite
@2024-03-19 21:50
M Tu es libre samedi ?
N Après 16h, avant je garde ma nièce
M 16h30 chez toi alors ?
N D'accord, prends les échantillons
!sticker M
@2024-04-04 12:12
M La dame a pris la table, et elle veut six chaises
N Six !!! On n'a même pas le bois
M Je sais
N Je t'appelle
!call N
"""

SISTERS = f"""
@2024-05-02 16:20
F chefti had lvideo ? 😂
S mazal, kanchouf
F kat dahhek bezzaf, lmoch kaydreb l piano
S hhhhhhhhh mtat b dahk
!photo F
F w hada moch dyalna, makaydir walo
@2024-05-08 22:41
S j'ai trouvé la robe dont je t'ai parlé
F ch7al ?
S 250 dh, w kayna f lkhdar
F khoudiha, ghadi tji m3ak zwina ❤️❤️
@2024-05-14 19:08
S {MARKET[2]}
F 3lemna f lfamille deja hhh
S ah oui c'est vrai
@2024-05-26 11:11
F je suis arrivée à la gare, fin nti ?
S 9eddam l9ahwa
F chefttek !
"""

HARBOUR = f"""
@2024-07-01 08:02
I Good morning from the lower harbour, the boats are late
G Which boats?
I All of them. There is fog down to the water
@2024-07-01 12:30
G {FERRY[1]}
^1 I Then I come on Sunday already
G Good, the room is ready: the key is with Anselm
!image I
I This is all I see of it
@2024-07-07 18:15
I I am on the island!
!sticker G
G Soup at seven, the door is open
!deleted I
I I meant the other door
@2024-07-20 21:33
G You left your compass here
I The brass one? Keep it, I know where north is
G North of here is only water
I That is how I know
!call I
"""

LOG = """
@2024-08-03 10:00
O is the reading room open today?
T yes, from ten, but the lift is broken
O I take the stairs, I need the ledgers of 1911
T third floor, the blue shelf / ask for the key downstairs
@2024-08-03 14:45
O the evening ferry does not run this week
T thanks, I had no idea
O nobody had, it was on a door
@2024-08-21 17:10
T your ledgers are three days late
O tomorrow, before the bells
"""

# Questions and answers of map makers, each blank filled from `phrases.SLOTS`.
QUESTIONS = [
    "Who has seen {thing}?", "Is the road to {place} open {time}?", "What do you want for {thing}?",
    "Has anybody heard from {person}?", "How long does it take to learn {craft}?", "What is there to eat at {place}?",
    "Which sheet shows {place}, the old one or the new one?", "Did you draw the {animal} on purpose?",
    "Can I copy your map of {place} {time}?", "Why is {place} upside down on sheet {number}?",
    "Does the ferry to {place} still take bicycles?", "Who pays for {food} {time}?",
]
ANSWERS = [
    "At {place}, behind the door.", "{number} days, and some {food}.", "Ask {person}, I only know {craft}.",
    "No, there is {weather} up there.", "I would not go, with {weather}.", "Yes, but only {time}.",
    "Ha, what a {adj} {noun}!", "Only {food} is left.", "It was a {animal}, I am sure of it.",
    "The {adj} one. Bring {thing}, too.", "I sold it for {food}, sorry 😅", "We should measure it again {time}.",
    "That is the {adj} part 😂", "Nobody knows, and {person} will not say.", "👍", "ok", "lol",
]
