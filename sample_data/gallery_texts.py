"""The words that `gallery.py` builds its files from: Darija, French pages, a handbook of bees, tasks with answers."""

from __future__ import annotations

SLOTS_ARABIC = {
    "place": ["السوق", "المدينة القديمة", "البحر", "الجبل", "المحطة", "السقاية", "الفيرمة", "الحومة"],
    "food": ["الحريرة", "الكسكس", "السردين", "البغرير", "الزيتون", "الرفيسة", "أتاي بالنعناع", "الخبز سخون"],
    "who": ["خالتي", "جدي", "ولد عمي", "جارتنا", "صاحبي", "الوالدة", "ختي الكبيرة", "مول الحانوت"],
    "when": ["البارح", "هاد الصباح", "نهار الجمعة", "فالعطلة", "قبل العيد", "فالليل", "من بعد العصر", "العام اللي فات"],
    "how": ["زوين", "غالي", "رخيص", "بعيد", "قريب", "صعيب", "ساهل", "مزيان"],
}
ARABIC = [
    "{when} مشيت مع {who} ل{place} وشرينا {food} من عند واحد الراجل كيبيع فالباب.",
    "{who} كيعرف يوجد {food} ما كاين بحالو، وكل مرة كنجيو عندو كنلقاو الدار عامرة.",
    "الطريق ديال {place} ولا {how} بزاف، حيت دارو فيه الخدمة وما سالاوش.",
    "واش عمرك شفتي {place} {when}؟ أنا كنت تما وما بغيتش نرجع للدار.",
    "قال ليا {who} بلي {food} {when} كان {how}، ولكن دابا ما بقى كيف كان.",
    "ملي كنا صغار كنا كنتجمعو حدا {place} ونلعبو حتى كيعيط علينا {who}.",
    "هاد الشي اللي وقع {when} ما عمري ننساه، حيت {who} ضحك حتى بكا.",
    "ما كاين ما حسن من {food} مع الصحاب، خصوصا إلا كان الجو بارد برا.",
    "سولت {who} على الثمن ديال {food} وقال ليا راه {how} هاد النهار.",
    "كيقولو الناس بلي {place} كان {how}، ولكن اللي ساكن تما كيعرف الحقيقة.",
    "فاش وصلنا ل{place} لقينا {who} كيتسنانا ومعاه {food} فالقفة.",
    "غدا إن شاء الله غادي نفيقو بكري ونمشيو ل{place} قبل ما تسخن الشمس.",
]
SLOTS_ARABIZI = {
    "place": ["souk", "lmdina l9dima", "lb7ar", "jbel", "lma7atta", "l7anout", "lfirma", "l7ouma"],
    "food": ["l7rira", "lksksou", "ssardin", "lbghrir", "zzitoun", "rrfissa", "atay", "lkhobz skhoun"],
    "who": ["khalti", "jeddi", "weld 3ammi", "jartna", "sa7bi", "lwalida", "khti lkbira", "moul l7anout"],
    "when": ["lbare7", "had sba7", "nhar jem3a", "f l3otla", "9bel l3id", "f llil", "men be3d l3asr", "l3am lli fat"],
    "how": ["zwin", "ghali", "rkhis", "b3id", "9rib", "s3ib", "sahel", "mzyan"],
}
ARABIZI = [
    "{when} mchit m3a {who} l {place} w chrina {food} men 3nd wa7ed rajel.",
    "{who} kay3ref ywejjed {food} ma kayn b7alo, wellah ila {how} bzaf.",
    "wach nta f {place} daba wla mazal f ddar? goul liya bach nji 3ndek.",
    "chkoun fikom 3ref chhal taman dyal {food} {when}? bghit nchri chwiya.",
    "safi ghadi ntla9aw f {place} m3a {who}, w jib m3ak {food} 3afak.",
    "hadchi lli w9e3 {when} ma 3emri nensah, {who} d7ek 7tta bka.",
    "tri9 dyal {place} wella {how} bzaf, 7it daro fih lkhedma w ma salawch.",
    "ana kan7mel {food} ktar men lma7lawi, walakin {who} kaygoul l3eks.",
    "ila kan ljew zwin ghedda nmchiw kamlin l {place}, chno ban lik?",
    "3ayetet l {who} {when} w ma jawbnich, yemken kan f {place}.",
]
FRENCH = [
    ["Le marché ouvre à sept heures, et les premiers clients arrivent avant que les étals ne soient prêts.",
     "La boulangère connaît tout le monde, demande des nouvelles des enfants et garde une baguette pour le facteur.",
     "Après midi, la place redevient silencieuse, sauf quand les pigeons se disputent les miettes de la journée."],
    ["Notre gare est petite, mais le chef de gare en parle comme d'un château qu'il faudrait défendre.",
     "Il arrose les géraniums, règle l'horloge et annonce chaque train comme si c'était le dernier de l'année.",
     "Les voyageurs sourient, montent dans le wagon et regardent par la fenêtre jusqu'à ce que le quai disparaisse."],
    ["Pour réparer une barque, il faut d'abord attendre que le bois sèche, et cela prend plus de temps qu'on ne croit.",
     "Mon oncle disait que la patience était l'outil le plus cher de son atelier, parce que personne ne la vendait.",
     "Il avait raison, et nous avons passé tout l'hiver à regarder la pluie tomber sur la coque."],
]  # fmt: skip

CHAPTERS = [
    "A hive is a house that its tenants build themselves. The keeper offers walls, a roof and a dry floor, and the bees "
    "hang their combs inside, straight down and a finger's width apart. Whoever moves the frames further apart than that "
    "will find wild comb in the gaps, and whoever presses them together will crush bees at every inspection. Begin with "
    "two colonies and not with one. A single colony teaches you what it does, but only the second one shows you what is "
    "unusual about the first. Place both where the morning sun reaches the entrance and the wind does not.",
    "An inspection has a question, or it should not take place. Is there a queen that lays? Is there enough food for "
    "two weeks of rain? Is there space for the next comb? Eggs that stand upright in their cells were laid today, so you "
    "need not see the queen herself. Work slowly, blow a little smoke across the frames and wait until the bees have "
    "turned away. Close the hive if the air is cold, because brood that cools for twenty minutes may be lost, and no "
    "answer is worth so much.",
    "The first honey is ripe when two thirds of the cells are capped. Shake a frame over the open hive: if drops fall "
    "out, the water content is too high, and the honey would ferment in the jar. Leave the bees at least fifteen "
    "kilograms for the winter, and more where spring comes late. Sugar syrup is a substitute for honey only in the way "
    "that bread is a substitute for dinner. It keeps a colony alive, and it does not make it strong.",
    "The varroa mite is the guest that every keeper has. It breeds under the caps of the brood, and a colony that looks "
    "healthy in July may be lost in October. Count the mites that fall onto a tray in three days. More than ten a day in "
    "summer require a treatment as soon as the honey has been removed. Write the count down, with the date and the "
    "hive, because the memory of a keeper is kinder than the mites are.",
]
BEES = [
    "A swarm is not an attack but a move. The old queen leaves the hive with half of the bees, and hangs in a tree for a "
    "few hours while scouts look for a new home. The bees carry honey for three days and have nothing to defend, so they "
    "seldom sting.",
    "To catch a swarm, hold a box below the cluster and shake the branch once, hard. If the queen is in the box, the "
    "other bees follow before evening. Carry the box to its stand after sunset, and feed the colony if the weather turns.",
    "Colonies swarm because they have too little space, or because their queen is old. Give the hive another box before "
    "the first one is full, and remove queen cells every nine days in May. Neither of these will stop a colony that has "
    "already decided.",
    "A young keeper calls the neighbours when a swarm leaves, and an old one puts on the kettle. Most swarms settle near "
    "the hive that they left, at the height of a ladder, and they stay there until the scouts agree.",
    "The colour of honey depends on the plants that the bees have visited. Acacia honey is nearly clear and stays liquid "
    "for years, rape honey turns white within two weeks, and the honey of the forest is dark, because it is not made of "
    "nectar but of what lice leave on the needles.",
    "Honey becomes solid because its sugar forms crystals. A warm water bath of forty degrees makes it liquid again, and "
    "more heat destroys the enzymes for which it is praised. Stir fresh honey with a wooden stick each day until it is "
    "creamy, and the crystals will be too small to feel.",
    "Wax is the other harvest. The bees make a kilogram of wax from about seven kilograms of honey, so the keeper "
    "returns empty combs whenever they are clean, and melts the old ones in the sun.",
]
BUNS = [
    "Mix a pound of flour with a spoon of salt, warm the milk until it is as warm as your hand, and let the yeast work "
    "in it for ten minutes. Knead the dough until it no longer sticks to the table, and cover it with a cloth.",
    "When the dough has doubled, divide it into twelve pieces and roll each of them into a ball. Put them close to one "
    "another, so that they rise upwards and not sideways, and brush them with milk before they are baked.",
    "The buns are done when they sound hollow. Eat them on the same day, since neither a tin nor a cloth keeps them from "
    "becoming stones, and then they are good for a pudding only.",
]

_NAMES = "otter lantern harbour quarry pebble thistle".split()  # noqa: SIM905
TASKS = [
    ("Write one sentence with the word {word}.", "", "Nobody had expected to find the {word} at the end of the road.", _NAMES),
    ("Please write one sentence with the word {word}.", "", "Nobody had expected to find the {word} at the end of the road.", _NAMES[:3]),
    ("Spell the word {word} in capitals, and say how it begins.", "", "These are the capitals of {word}, which begins with its first letter.", _NAMES[:2]),
    ("Replace the animal in the sentence by the word {word}.", "The heron stood on one leg and looked at the water.",
     "The {word} stood on one leg and looked at the water.", _NAMES),
    ("Explain to a child of six years what the word {word} means, without using the word in your answer.", "",
     "It is something that you may find outside, and once you have seen one, you will know the next one.", _NAMES[2:]),
    ("Turn this note into a polite letter, and mention the {word} in its last line.",
     "Ferry late. Nobody told us. Want the money back.",
     "Dear madam or sir, our ferry was late, and we were not told. We kindly ask you to return what we paid. "
     "P.S. We still talk about the {word}.", _NAMES),
]  # fmt: skip
