"""The words that `make.py` builds the sample files from: sentence patterns, essays, bad pages and two chats."""

from __future__ import annotations

_SLOTS = {
    "place": "Marrow Hill|the lower harbour|Aldenfeld|the old customs house|Quietwater|the tram depot|Tessaly Bridge|"
    "the reading room|Fernmouth|the northern quay|Osprey Lane|the glass market|Hollin Green|the upper reservoir|"
    "Saltby|the weavers' court|Pell Island|the orchard road|Drumlin Cross|the lighthouse garden",
    "person": "Ilse Varga|Tomas Orr|Bettina Cole|Marek Lund|Oriel Hart|Pavel Dunn|Greta Moss|Anselm Pike|Noor Telle|"
    "Jonas Reed|Lidia Frost|Casper Vane|Mina Holt|Edgar Thorne|Safi Brandt|Ruth Calder",
    "thing": "a brass compass|the wooden press|a box of maps|the second bell|a torn ledger|an enamel kettle|the long table|"
    "a reel of copper wire|the painted sign|a jar of buttons|the spare rudder|a folded letter|the broken clock|"
    "a bundle of reeds|the iron gate|a set of scales|the blue bicycle|an unsigned map",
    "food": "barley soup|smoked eel|rye bread|pickled plums|walnut cake|bean stew|goat cheese|lentil pie|honey biscuits|"
    "roast chestnuts|cold cider|onion tart|pear jam|fennel tea",
    "animal": "heron|grey cat|pair of geese|stable dog|young fox|white goat|swarm of bees|barn owl|otter|flock of starlings|"
    "mule|hedgehog",
    "weather": "thin rain|a dry wind|late frost|heavy fog|bright cold|slow thunder|a week of sleet|warm dusk|low cloud|"
    "the first snow",
    "time": "before noon|after the harvest|on the third evening|in early March|at low tide|during the long winter|"
    "before the bells|one Sunday in June|towards midnight|in the seventh year|when the schools had closed",
    "adj": "patient|narrow|stubborn|faded|generous|crooked|careful|hollow|sudden|ordinary|restless|polished|modest|"
    "bitter|unlikely|gentle|worn|curious",
    "noun": "plan|promise|rumour|bargain|habit|silence|quarrel|season|repair|journey|song|debt|lesson|custom|mistake|"
    "guess|detour|answer",
    "verb": "mended|carried|measured|copied|painted|counted|borrowed|weighed|buried|polished|traded|sketched|forgot|"
    "repaired|hid|labelled",
    "number": "three|seven|eleven|fourteen|nineteen|twenty-two|thirty|forty-one|sixty|ninety",
    "craft": "bookbinding|boat building|bee keeping|glass blowing|clock repair|map making|weaving|dry stone walling|"
    "bell ringing|lens grinding|basket making|ink making",
    "spare": "amber|lantern|quarry|thistle|velvet|cobble|harbinger|meadow|pewter|saffron|ripple|cinder|marble|juniper|"
    "cobalt|drizzle|parsley|cellar|tundra|walrus|acorn|fathom|gravel|lilac|mortar|nettle|orchid|pebble",
}
SLOTS = {name: words.split("|") for name, words in _SLOTS.items()}

TITLES = ["A {adj} {noun}", "Notes from {place}", "{person} and {thing}", "On {craft}", "The {animal} at {place}"]

SENTENCES = [
    "{person} {verb} {thing} and walked back to {place} {time}.",
    "Nobody at {place} remembered a more {adj} {noun} than this one.",
    "The {animal} slept beside {thing} while {weather} crossed the valley.",
    "It took {number} people to lift {thing} over the wall near {place}.",
    "They ate {food} with {food} and argued about {craft} until the lamps went out.",
    '"A {adj} {noun} is still a {noun}," said {person}, and {verb} the rest.',
    "In {place} the price of {food} rose by {number} coins {time}.",
    "Every apprentice of {craft} learns that {weather} ruins {thing}.",
    "{person} kept {number} notebooks, each with a {adj} drawing of a {animal}.",
    "Where the road to {place} bends, someone had left {thing} under a {adj} blanket.",
    "The council asked {person} to explain the {noun}, which had grown {adj}.",
    "With {weather} came news of {person}, who had {verb} {thing} far away.",
    "A {animal} followed {person} all the way from {place} and refused {food}.",
    "For {number} days the {adj} engine stood still, and {place} grew quiet.",
    "What looked like a {noun} turned out to be {thing} wrapped in cloth.",
    "Old ledgers from {place} list {number} barrels, {thing} and a {adj} {animal}.",
    "{time}, {person} opened the shutters and found {weather} waiting.",
    "Teaching {craft} to children needs a {adj} voice and plenty of {food}.",
    "The letter mentioned {place} twice but never the {noun} itself.",
    "Under the floor of {place} lay {thing}, {number} keys and some {food}.",
    "{person} claimed that {craft} and {craft} were the same {adj} art.",
    "Because of {weather}, the ferry to {place} left {number} hours late.",
    "She offered {thing} in exchange for {food}, a {adj} {noun} by any measure.",
    "The {adj} map showed {place} upside down, with a {animal} in the margin.",
    "On the {number} steps of {place} sat {person}, who {verb} without a word.",
    "Most visitors confuse {place} with {place}, a {adj} but harmless {noun}.",
    "He had {verb} {thing} so often that the handle shone.",
    "Between {place} and the sea there is only {weather} and one {adj} inn.",
    "The inn serves {food} {time}, and nothing else until spring.",
    "{person} measured the {noun} in footsteps: {number} there, {number} back.",
    "A rumour about {thing} reached {place} faster than the {animal} could run.",
    "When {person} retired from {craft}, the {adj} workshop became a bakery for {food}.",
    "Rain barrels, {thing} and a {animal}: that was the whole inventory of {place}.",
    "The museum paid {number} crowns for {thing}, although {person} called it {adj}.",
    "Each year the people of {place} forgive one {noun} and forget {number} others.",
    "There was {weather} in the photograph, and {person} looking {adj} beside {thing}.",
    "Our guide, {person}, insisted that {craft} began in {place} {time}.",
    "The {animal} had stolen {food}, which explained the {adj} {noun}.",
    "{number} winters later, {thing} still hung above the door of {place}.",
    "To reach {place} you cross {number} bridges and one {adj} field.",
    "Whoever {verb} {thing} must have known {person} well.",
    "The {adj} part of {craft} is waiting; the rest is {food} and conversation.",
    "At dusk the {animal} returned, {weather} on its back, to {place}.",
    "{person} wrote that a {adj} {noun} had saved the {craft} of the whole coast.",
    "No one sold {food} at {place} after the {noun} of the {number} cousins.",
    "Beneath {weather}, {thing} looked almost {adj}.",
    "The second chapter describes how {person} {verb} the {noun} and kept {thing}.",
    "{place} has {number} wells, a {adj} school and a fair for {craft}.",
    "If the {animal} crosses the road {time}, bakers give away {food}.",
    "{person} laughed, {verb} {thing}, and ended the {noun} {time}.",
]

ESSAYS = [
    "A lighthouse keeper counts in flashes. Two short and one long mean the northern rocks, and every sailor on this "
    "coast learns that before he learns to tie a bowline. The lamp itself is no larger than a teapot. What carries its "
    "light for twenty miles is glass: ring upon ring of prisms, each cut to bend a stray ray back towards the sea.\n"
    "My grandmother polished those prisms for thirty years. She said that dust is the only enemy that never sleeps.",
    "Bread is a slow conversation between flour and time. You mix, you wait, and the dough answers in its own measure. "
    "A cold kitchen makes it shy, a warm one makes it reckless. Good bakers do not hurry either of them. They press a "
    "thumb into the loaf and watch how long the dent remembers.\nWhen it forgets slowly, the oven may be opened.",
    "The tram to the depot runs empty after eleven, and the driver sings. He has a repertoire of four songs, all of "
    "them about rivers. Passengers who ride to the end of the line know the second verse by heart. Nobody has ever "
    "asked him to stop. Last winter, when he was ill, the line ran on time and in silence, and people complained.",
    "To repair a clock you must first convince yourself that it wants to run. Springs do not tire; oil does. Take the "
    "movement apart in the order of a story, laying each wheel where the tale would need it next. Clean, look, and put "
    "back. If a piece is left over at the end, the clock was lying to you about something, and you begin again.",
    "Maps of the marsh are wrong by the time the ink is dry. Channels wander, islands sink and new ones rise overnight "
    "with reeds already on them. The ferrymen keep no maps at all. They listen to the water under the hull and turn "
    "when its voice changes.\nA surveyor once spent a summer here. In autumn he sold his instruments and bought a boat.",
    "Schools used to teach handwriting as if it were music. There were rhythms to beat on the desk, and whole mornings "
    "of nothing but loops. I hated it then. Now, when a letter arrives in my old teacher's hand, I hear the desk drum "
    "under the words, steady as rain, and I read more slowly than I need to.",
    "A village choir is an experiment in forgiveness. The tenors are late, the altos are sure of themselves, and the "
    "organ disagrees with everyone by a quarter tone. Yet on one evening a year, usually in the cold, all the errors "
    "cancel. The windows ring. For eleven bars nobody in the church is wrong.",
    "Beekeepers tell the bees when someone has died. They knock on each hive with a key and say the name. It is only a "
    "custom, and the bees do not need the news. But the keeper has to walk from hive to hive, knock, and say it aloud "
    "twenty times, and after the last hive it has become possible to believe it.",
]

BAD_PAGES = {
    "lorem_ipsum": "Welcome to the template of a garden shop. Lorem ipsum dolor sit amet, and so on for a page.\n"
    "This line was meant to be replaced by the owner. It never was, and the shop closed in spring.\n"
    "Here is one more sentence so that length is not the reason. There is a reason, and it is above.",
    "curly_bracket": "The page explains how a lamp is switched on by a program.\n"
    "First the program waits for a signal from the door. Then it runs function lamp() { light = true; } once.\n"
    "After that the lamp stays on until morning. Everyone in the house was content with the result.",
    "too_few_sentences": "Home\nProducts\nAbout our small company\nContact\n"
    "There is only one sentence on this whole page, and here it ends.",
    "no_lines_left": "Please enable javascript in your browser to see this page properly.\n"
    "This site uses cookies and you accept our cookie policy by staying here.\n"
    "By reading on you agree to the terms of use of this website in full.\n"
    "Prices and opening hours without any final mark at all",
}

# What C4's published rules say of each page: boilerplate lines go first, and then too few sentences are left.
BAD_PAGE_REASONS = {f"https://example.org/bad/{name}": name for name in BAD_PAGES if name != "no_lines_left"}
BAD_PAGE_REASONS["https://example.org/bad/no_lines_left"] = "too_few_sentences"

ANDROID = """\
03/05/2024, 09:12 - Messages and calls are end-to-end encrypted. No one outside of this chat, not even WhatsApp, can read or listen to them. Tap to learn more.
03/05/2024, 09:12 - Ilse Varga created group "Reading circle"
03/05/2024, 09:13 - Ilse Varga: Good morning, who has finished the third chapter?
03/05/2024, 09:15 - Tomas Orr: Nearly. The part about the ferry is longer than I thought.
03/05/2024, 09:15 - Tomas Orr: Does the captain come back?
03/05/2024, 09:17 - Ilse Varga: No spoilers!
Read on until the bridge, then we talk.
03/05/2024, 09:18 - Noor Telle: <Media omitted>
03/05/2024, 09:19 - Noor Telle: That is my copy, with tea on page forty.
03/05/2024, 12:40 - Noor Telle: I can bring walnut cake on Thursday.
03/05/2024, 12:41 - Tomas Orr: Then I will bring cider 🍎
03/05/2024, 12:41 - Ilse Varga: This message was deleted
03/05/2024, 12:44 - Ilse Varga: Thursday at seven, in the reading room: the door is open from half past six.
04/05/2024, 08:02 - Noor Telle: Page ninety. The captain came back after all, and nobody warned me.
"""

IOS = """\
[03/05/2024, 18:20:41] Allotment 12: \u200eMessages and calls are end-to-end encrypted. No one outside of this chat, not even WhatsApp, can read or listen to them.
[03/05/2024, 18:21:07] Marek Lund: The beans are up, three rows out of four.
[03/05/2024, 18:21:55] Greta Moss: Only three? I planted that fourth row myself.
[03/05/2024, 18:23:10] Marek Lund: A fox did not agree with the fourth row.
I have put the net over what is left.
\u200e[03/05/2024, 18:24:02] Greta Moss: \u200eimage omitted
[03/05/2024, 18:24:30] Greta Moss: Look at him, he is not even sorry.
[03/05/2024, 20:45:00] Marek Lund: Water at seven tomorrow? The tap by the gate works again.
[03/05/2024, 20:46:12] Greta Moss: Seven is fine, and I will bring the long hose.
[04/05/2024, 07:03:33] Greta Moss: I am here: where are you?
[04/05/2024, 07:05:58] Marek Lund: Oversleeping is also gardening.
"""

DARIJA = [
    {"text": text, "dataset_source": source}
    for source, texts in {
        "forum": [
            "صباح الخير، شكون فيكم جرب يزرع النعناع فالسطح؟ أنا بديت هاد الشهر وراه كيكبر بالزربة.",
            "واخا تكون عندك غير بلاصة صغيرة، كتقدر تدير فيها مطيشة والفلفلة والقزبر بلا مشاكل.",
            "السلام عليكم، بغيت نسولكم على الطريق ديال الجبل، واش مسدودة بالثلج ولا محلولة؟",
            "الجو اليوم زوين بزاف، خرجنا كاملين للبحر وشرينا السردين من عند البحارة.",
            "خالتي كتعرف تدير رفيسة ما كاين بحالها، وكل جمعة كنتجمعو عندها فالدار الكبيرة.",
        ],
        "blog": [
            "كنت صغير ملي تعلمت نصلح البشكليط مع جدي فالكراج، وكان ديما كيقول ليا: الصبر هو الصنعة.",
            "المدينة القديمة فالليل كتولي ساكتة، ما كتسمع غير صوت الما فالسقاية والمشاش فوق السطوحة.",
            "قريت بزاف ديال الكتب هاد العام، ولكن اللي عجبني كثر هو كتاب على البحر والناس ديالو.",
            "نهار السوق كنفيقو بكري، كنهزو القفة وكنمشيو على رجلينا حيت الطريق قريبة وزوينة.",
        ],
        "chat": [
            "salam khouti, chkoun ghadi l souk ghedda? bghit nchri chi zitoun w khobz sghir",
            "ana ghadi m3a 8 d sba7, ila bghiti nhezzek f triqi ghir goulha liya",
            "safi mzyan, nchoufek 9edam l7anout w jib m3ak l9effa lkbira",
            "wa3er hadchi! ma kentch 3aref belli ljarda welat zwina bhal haka",
        ],
        # The same sentence once more, from another place: what deduplication of such a set must find.
        "mirror": ["الجو اليوم زوين بزاف، خرجنا كاملين للبحر وشرينا السردين من عند البحارة."],
    }.items()
    for text in texts
]
