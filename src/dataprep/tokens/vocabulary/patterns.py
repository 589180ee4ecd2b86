r"""Patterns that divide text into words before merging, and equivalent state machines that read characters.

A machine never looks ahead. If its pattern does (`\s+(?!\S)`, `'ll`), the machine sets a cut before the cut is certain,
and may remove the cut one or two characters later. `cutting.py` runs the machines; texts are encoded by `tiktoken` if
the pattern has no machine.
"""

import re

from dataprep.errors import PlanError

# `words`, the default: letters with their marks (Arabic, Hindi and Thai vowels stay inside the word) and one leading
# sign or space; up to three digits; signs with their line end; white space whole. Without look-ahead both regex
# engines run in linear time, also for long runs of spaces.
PATTERNS = {
    "words": r"[^\r\n\p{L}\p{M}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s+",
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "gpt4": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
}
# Other spellings of the same patterns in published vocabularies.
SPELLINGS = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s": "gpt4 whole end",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+": "gpt4",
}  # fmt: skip

# Named patterns whose machine, if any, has another name.
ALSO = {
    "llama3": next(regex for regex, name in SPELLINGS.items() if name == "gpt4" and regex.startswith("(?i:'s")),
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
# Policies for digits: threes from the left (GPT-4), one by one (Llama 2, DeepSeek, Gemma), whole numbers (GPT-2).
DIGITS = {"groups": r"\p{N}{1,3}", "single": r"\p{N}", "runs": r"\p{N}+"}
_NUMBER = re.compile(
    r"(?<=\|)((?: \?)?)\\p\{N\}(\{1,3\}\+?|\+{0,2})(?=\|)"
)  # the branch of a pattern that matches digits


def regex_of(pattern: str, digits: str | None = None) -> str:
    """Return the regular expression of the pattern `pattern`, a name such as "gpt2" or an expression itself.

    - digits: the way in which numbers are divided: into "groups" of three digits, into "single" digits, or not
      ("runs"); None: as in `pattern`.

    >>> regex_of("gpt2", digits="single")   # GPT-2's, with a word per digit
    """
    regex = (PATTERNS | ALSO).get(pattern, pattern)
    if regex == pattern and (pattern.isidentifier() or not pattern):
        msg = f"pattern={pattern!r} is not one of {', '.join(PATTERNS | ALSO)}; use one of these or a regex"
        raise PlanError(msg)
    if digits is None:
        return regex
    found = _NUMBER.findall(regex)
    if digits not in DIGITS or len(found) != 1:
        what = f"one of {', '.join(DIGITS)}" if len(found) == 1 else "for the named patterns; write it into your regex"
        msg = f"split_digits={digits!r} is {'not ' if len(found) == 1 else ''}{what}"
        raise PlanError(msg)
    space = found[0][0] if digits == "runs" else ""  # or each digit would be two tokens, with a space and without
    return _NUMBER.sub(lambda _: space + DIGITS[digits], regex)


CLASSES = "aslveASLVExMN_wno'/$"

# A machine has a line per state: the classes of characters that continue the word, each with the next state. Any other
# character ends the word and begins another, in the state that `first` names for its class.
# Classes: a letter, M mark, N number, _ space, w other white space, n line end, o anything else, ' apostrophe, / slash;
# the letters that end a contraction are s (for s d m t), l, v (for v r), e. Patterns that depend on case also have the
# capitals A, S, L, V, E, and x, a letter without case. In a line, a, A or o is every small letter, capital or sign that
# the line does not name. `-` takes back a cut, `+` sets one before the character; $ is the end of the text.
WORDS = """
    first   a letters   N n1   _ space   w lead   n blank   o sign
    letters a letters
    space   a letters   o signs   _wn blank
    lead    a letters   _wn blank
    blank   _wn blank
    sign    a letters   o signs   n lines
    signs   o signs     n lines
    lines   n lines
"""
# space_, white_: the last character of a run of white space, with a cut before it that the next one may take back
GPT2 = """
    first   a letters   N n1   _ space   wn white   o signs   ' quote
    letters a letters
    signs   o signs
    space   a letters   N n1   o signs  _ +space_  wn +white_
    white   _ +space_   wn +white_
    space_  a letters   N n1   o signs  _ -+space_ wn -+white_  $ -end
    white_  _ -+space_  wn -+white_  $ -end
    quote   s done      l +ll      v +ve     o signs
    ll      l -done     a letters
    ve      e -done     a letters
    done
"""
# A run of white space is cut after its last line end: space_1 and lead_1 follow a line end, with the cut before;
# space_2 and lead_2 come later in such a run, and have two cuts to take back if another line end follows.
BLANKS = """
    space   a letters   o signs  _ +space_   w +lead_   n blank
    lead    a letters   _ +space_   w +lead_   n blank
    space_  a letters   o signs  _ -+space_  w -+lead_  n -blank  $ -end
    lead_   a letters   _ -+space_  w -+lead_  n -blank  $ -end
    blank   n blank     _ +space_1  w +lead_1
    space_1 a letters   o signs  _ +space_2  w +lead_2  n -blank
    lead_1  a letters   _ +space_2  w +lead_2  n -blank
    space_2 a letters   o signs  _ -+space_2 w -+lead_2 n --blank $ -end
    lead_2  a letters   _ -+space_2 w -+lead_2 n --blank $ -end
"""
GPT4 = f"""
    first   a letters   N n1   _ space   w lead   n blank   o sign   ' quote
    letters a letters
    {BLANKS}
    sign    a letters   o signs  n lines
    signs   o signs    n lines
    lines   n lines
    quote   s done      l ll   v ve   a letters   o signs   n lines
    ll      l done      a letters
    ve      e done      a letters
    done
"""
# The same, but white space at the end of a text is one word even if it has line ends.
WHOLE_END = GPT4.replace("n -blank\n", "n -blank $ -end\n").replace("n --blank $ -end", "n --blank $ --end")
# Capitals, then small letters, are one word; if only capitals follow, it ends with its last letter without case or
# mark: `after` are those capitals, with a cut before them. A contraction ends the word before it: `quote` has a cut
# before the apostrophe, which may also begin a word (l_ and v_ are its first letter, L_ and V_ a capital).
CASES = "a small   A capital   xM other"
O200K = f"""
    first   {CASES}   N n1   _ space   w lead   n blank   o sign
    small   axM small     ' +quote
    capital {CASES}       ' +quote
    other   a small    A +after   xM other   ' +quote
    after   a -small   A after    xM -other  ' +quote
    {BLANKS.replace("a letters", CASES)}
    sign    {CASES}       o signs   n lines
    signs   oM signs      n lines
    lines   n/ lines
    quote   {CASES}       o signs   n lines   sS -done   l l_   L L_   v v_   V V_
    l_      lL -done      axM small   ' +quote
    v_      eE -done      axM small   ' +quote
    L_      lL -done      {CASES}     ' +quote
    V_      eE -done      {CASES}     ' +quote
    done
"""
# States after the first character of a number, by policy; only "spaced runs" include a leading space.
NUMBERS = {"groups": "n1 N n2\n n2 N n3\n n3", "single": "n1", "runs": "n1 N n1", "spaced runs": "n1 N n1"}
MACHINES = {"words": WORDS, "gpt2": GPT2, "gpt4": GPT4, "gpt4 whole end": WHOLE_END, "o200k": O200K}
OWN_NUMBERS = {"gpt2": "spaced runs"}  # the others have groups
# Characters of contractions and their classes; U+017F is an s if case is ignored.
_ANY_CASE = {"'": "'", "sdmtSDMT\u017f": "s", "lL": "l", "vrVR": "v", "eE": "e"}
_BOTH_CASES = {"'": "'", "sdmt\u017f": "s", "l": "l", "vr": "v", "e": "e", "SDMT": "S", "L": "L", "VR": "V", "E": "E"}
SPECIAL = {
    "words": {},
    "gpt2": {"'": "'", "sdmt": "s", "l": "l", "vr": "v", "e": "e"},
    "gpt4": _ANY_CASE,
    "gpt4 whole end": _ANY_CASE,
    "o200k": _BOTH_CASES | {"/": "/"},
}


def machine_name(pattern: str) -> tuple[str, str] | None:
    """Return (name of the state machine for a pattern, name of how it cuts numbers); None if there is no machine.

    The names are keys of `MACHINES` and `NUMBERS`.

    Args:
        pattern: a regular expression.
    """
    bases = {regex: name for name, regex in PATTERNS.items()} | SPELLINGS | {ALSO["o200k"]: "o200k"}
    for regex, name in bases.items():
        own = OWN_NUMBERS.get(name, "groups")
        policies = {regex_of(regex, digits): own if digits == "runs" and " " in own else digits for digits in DIGITS}
        found = ({regex: own} | policies).get(pattern)
        if found:
            return name, found
    return None


def lines_of(name: str, numbers: str) -> list[list[str]]:
    """Return the lines that define the state machine `name`, each split at white space.

    - numbers: the way in which it divides numbers, a key of `NUMBERS`.
    """
    text = MACHINES[name] if numbers == "spaced runs" else MACHINES[name].replace("N n1   o", "o")
    lines = [line.split() for line in f"{text}\n{NUMBERS[numbers]}".splitlines()]
    return [line for line in lines if line]
