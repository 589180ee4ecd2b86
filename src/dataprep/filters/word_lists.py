"""Lists of words and punctuation marks by language.

Stop words are the most frequent words of a language; real sentences contain such words, whereas lists of products do
not. The English list is as published (Rae et al. 2021, A.1.1); the other lists contain frequent words that are not also
content words. Only letters are compared, in lower case, so that "The," equals "the". A word with a prefix (Arabic wa-,
French l') is a different word, so the lists contain words that occur without prefixes.
"""

from __future__ import annotations

from dataprep.unicode import tables

STOP_WORDS: dict[str, tuple[str, ...]] = {
    "en": ("the", "be", "to", "of", "and", "that", "have", "with"),
    "fr": (
        "le", "la", "les", "de", "des", "du", "un", "une", "et", "en", "que", "qui", "dans", "pour", "par", "sur", "au",
        "aux", "avec", "est", "sont", "pas", "ne", "ce", "cette", "il", "elle", "plus", "ou", "mais",
    ),
    "ar": (
        "في", "من", "على", "إلى", "الى", "عن", "أن", "ان", "إن", "أو", "او", "التي", "الذي", "الذين", "هذا", "هذه",
        "ذلك", "كان", "كانت", "ما", "لا", "لم", "لن", "قد", "كل", "بعد", "قبل", "بين", "مع", "هو", "هي", "حتى", "ثم",
    ),
    "ary": (
        "ديال", "ديالو", "ديالي", "ديالها", "ديالنا", "ديالك", "اللي", "لي", "هاد", "هادي", "هادشي", "داك", "ديك",
        "داكشي", "واش", "علاش", "كيفاش", "فين", "شنو", "اشنو", "اش", "شي", "بزاف", "غير", "باش", "ماشي", "كاين",
        "كاينة", "دابا", "حيت", "راه", "را", "كان", "كانت", "على", "علا", "من", "في", "ف", "مع", "معا", "و", "ولا",
        "حتى", "حتا", "بحال", "عندو", "عندي", "غادي", "ولكن", "والاكين", "إلا", "الا", "بلي", "واخا", "أنا", "انا",
        "نتا", "ليك", "ليا", "ملي", "شحال", "ما", "لا",
    ),
    "ary-Latn": (
        "dyal", "dial", "dyali", "diali", "dyalo", "dialo", "dyalk", "dialk", "li", "lli", "had", "hadi", "hadchi",
        "hadshi", "dak", "dik", "dakchi", "dakshi", "wach", "wash", "3la", "ala", "f", "fi", "mn", "m3a", "bzaf",
        "bezaf", "bzzaf", "ghir", "ghi", "bach", "bash", "machi", "mashi", "kayn", "kayna", "daba", "7it", "hit",
        "rah", "ra", "kan", "kant", "chi", "shi", "chno", "chnou", "shno", "shnou", "achno", "fin", "3lach", "3lash",
        "kifach", "kifash", "fach", "fash", "wla", "wlla", "7ta", "hta", "7tta", "htta", "b7al", "bhal", "o", "w",
        "ana", "nta", "nti", "howa", "hiya", "hna", "ntoma", "homa", "3ndi", "3ndo", "ghadi", "ila", "walakin", "bli",
        "blli", "belli", "wakha", "wa5a", "lik", "liya", "lia", "3lik", "kol", "ma", "b", "l",
    ),
    "es": (
        "el", "la", "los", "las", "de", "del", "que", "y", "en", "un", "una", "por", "con", "para", "no", "es", "se",
        "lo", "su", "al", "como", "más", "pero", "sus", "le", "ya",
    ),
    "de": (
        "der", "die", "das", "und", "den", "von", "zu", "mit", "sich", "des", "auf", "für", "ist", "im", "dem",
        "nicht", "ein", "eine", "als", "auch", "werden", "aus", "er", "hat", "dass", "sie", "nach",
    ),
}  # fmt: skip

# Marks that end a sentence in all scripts (Unicode's Sentence_Terminal), and those with which a line of text can end:
# the same, the ellipsis and closing quotation marks.
SENTENCE_TERMINALS = tuple(map(chr, tables.points(tables.CLASSES["SENTENCE"])))
TERMINAL_PUNCTUATION = (*SENTENCE_TERMINALS, *"…'\"”’»›」』｣﹂﹄〞〟")

# The code of FineWeb has these marks too, of Khmer and Kawi, and lacks those: it has another Unicode version.
CODE_MORE = (0x17D6, 0x17D9, 0x17DA, 0x11F43, 0x11F44)
CODE_LESS = (0x2024, 0x2CF9, 0x2CFA, 0x2CFB, 0xFE12, 0xFE15, 0xFE16)

# Counters of a page ("3 likes"): the line is a number and one of these.
DCLM_COUNTERS = (
    "likes", "shares", "comments", "retweets", "reposts", "quotes", "bookmarks", "upvotes", "downvotes", "downloads",
    "views", "followers",
)  # fmt: skip
COUNTERS = (
    "like", "likes", "share", "shares", "comment", "comments", "reply", "replies", "retweet", "retweets", "repost",
    "reposts", "quote", "quotes", "bookmark", "bookmarks", "upvote", "upvotes", "downvote", "downvotes", "download",
    "downloads", "view", "views", "follower", "followers", "subscriber", "subscribers", "vote", "votes", "review",
    "reviews",
    "j'aime", "j’aime", "partage", "partages", "commentaire", "commentaires", "réponse", "réponses", "vue", "vues",
    "abonné", "abonnés", "téléchargement", "téléchargements", "avis",
    "إعجاب", "إعجابات", "اعجاب", "مشاركة", "مشاركات", "تعليق", "تعليقات", "تعليقا", "رد", "ردود", "مشاهدة", "مشاهدات",
    "متابع", "متابعين", "متابعون", "مشترك", "تحميل",
)  # fmt: skip
