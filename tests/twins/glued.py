"""Twin of `pii/glued.py`: glued words, extensions and double blanks, read character by character."""

from __future__ import annotations

BETWEEN = " ().-/"
LABELS = ("x", "ext", "extn", "extension", "poste", "anexo", "ramal", "interno", "доб", "durchwahl")


def is_ascii_letter(c: str) -> bool:
    """Whether a character is a letter of ASCII."""
    return c.isascii() and c.isalpha()


def digits_at(line: str, i: int) -> int:
    """How many Western digits there are from `i` on."""
    n = 0
    while line[i + n : i + n + 1].isdecimal() and line[i + n].isascii():
        n += 1
    return n


def number_before(line: str, end: int) -> str:
    """The number that ends at `end`, of up to 28 characters, with its + or bracket; "" if something is before it."""
    least, begins = max(0, end - 28), []
    i = end - 1
    while i >= least:
        run = i
        while run >= least and line[run].isascii() and line[run].isdecimal():
            run -= 1
        begins += range(run + 1, i + 1)
        gap = run
        while gap >= least and gap > run - 2 and line[gap] in BETWEEN:
            gap -= 1
        if gap < least or not (line[gap].isascii() and line[gap].isdecimal()):
            break
        i = gap
    found = []
    for first in begins:
        if first - 1 >= least and line[first - 1] == "+":
            found.append(first - 1)
        for start in (first, first - 1):
            free = start == 0 or not (line[start - 1] in ".,:/-" or digits_at(line, start - 1))
            if start >= least and free and (start == first or line[start] == "("):
                found.append(start)
    return line[min(found) : end] if found else ""


def word_at(line: str, at: int, *, world: bool) -> str:
    """The word or the extension that is glued to a number which ends at `at`; "" if there is none."""
    start = at + (line[at : at + 1] == "_")
    end = start
    while is_ascii_letter(line[end : end + 1]):
        end += 1
    word, after = line[start:end], line[end : end + 1]
    free = not (after.isascii() and (after.isalnum() or after == "_"))
    if world and word and free:
        return line[at:end]
    if len(word) >= 3 and start > at and not (after.isalnum() or after in ("_", ".")):
        return line[at:end]
    if len(word) >= 3 and start == at and free and (word[1:].islower() or word.isupper()):
        return word
    size = extension(line, at, "", (": ", 1))
    return line[at : at + size] if start == at else ""


def extension(line: str, at: int, more: str, gap: tuple[str, int]) -> int:
    """How many characters the label of an extension and its number take; 0 if there is none. more: another label."""
    for label in sorted(LABELS, key=len, reverse=True):
        end = at + len(label)
        if line[at:end].lower() != label:
            continue
        for dot in (True, False):
            i = end + (dot and line[end : end + 1] == ".")
            k = i
            while k < i + gap[1] and line[k : k + 1] and line[k] in gap[0]:
                k += 1
            if size := _number(line, k):
                return k + size - at
    if more and line[at : at + 1] == more:
        k = at + 1 + (line[at + 1 : at + 2] == " ")
        if size := _number(line, k):
            return k + size - at
    return 0


def _number(line: str, i: int) -> int:
    n = digits_at(line, i)
    after = line[i + n : i + n + 1]
    return n if 1 <= n <= 6 and not (after.isascii() and (after.isalnum() or after == "_")) else 0


def parted(line: str) -> str:
    """The line with a sign in place of the first letter of each word that is glued to a number."""
    out = list(line)
    for at in range(1, len(line)):
        if line[at] == " " and digits_at(line, at - 1) and _is_arabizi(line, at + 1):
            out[at] = "\x1f"
    line = "".join(out)
    for at in range(1, len(line)):
        if not (digits_at(line, at - 1) and (is_ascii_letter(line[at]) or line[at] == "_")):
            continue
        number = number_before(line, at)
        n, world = sum(map(str.isdigit, number)), number.startswith("+")
        word = word_at(line, at, world=world)
        if word and 8 - world <= n <= 15 and not set(word.lower()) <= set("abcdef"):
            out[at] = "\x1f"
    return "".join(out)


def _is_arabizi(line: str, at: int) -> bool:
    """Whether a word of Arabizi, a digit and at least two letters, begins there."""
    end = at + 1
    while is_ascii_letter(line[end : end + 1]):
        end += 1
    word, after = line[at + 1 : end], line[end : end + 1]
    if line[at : at + 1] not in tuple("123456789") or len(word) < 2 or after == "_" or digits_at(line, end):
        return False
    return (after.isalnum() and bool(after)) or not set(word.lower()) <= set("abcdef")


def attached(line: str) -> list[int]:
    """Where a number of several groups begins directly behind a word."""
    found = []
    for at in range(3, len(line)):
        start = at
        while start and line[start - 1].isalpha():
            start -= 1
        word, before = line[start:at], line[start - 1 : start]
        if at - start < 3 or (before and (before.isalnum() or before in "_@#=/\\.-")) or line[at].isalpha():
            continue
        small = word[1:].islower() or (len(word) >= 4 and "0" in line[at : at + 2] and word.isupper())
        if small and not set(word.lower()) <= set("abcdef") and _is_grouped(line, at):
            found.append(at)
    return found


def _is_grouped(line: str, at: int) -> bool:
    """Whether groups of digits of usual sizes begin there, and nothing goes on after some of them."""
    opened = line[at] == "("
    size = digits_at(line, at + opened)
    closed = line[at + opened + size : at + opened + size + 1] == ")"
    end = at + opened + size + closed
    if not size or (opened and not closed):
        return False
    sizes, ends, i = [], [], end
    if opened and line[i : i + 1] not in " .-":  # (212)555-0123
        n = digits_at(line, i)
        sizes, i = [n], i + n
        ends = [i] if n else []
    while i < len(line) and line[i] in " .-" and (n := digits_at(line, i + 1)):
        sizes, i = [*sizes, n], i + 1 + n
        ends.append(i)
    for k in range(1, len(sizes) + 1):
        some, after = sizes[:k], line[ends[k - 1] : ends[k - 1] + 2]
        zero = line[at + opened] == "0" and size <= 5 and k <= 4 and max(some) <= 5
        area = opened and size <= 4 and k <= 4 and min(some) >= 2 and max(some) <= 5
        plain = not opened and not closed
        long = plain and 3 <= size <= 5 and k <= 3 and min(some) >= 2 and max(some) <= 5
        pairs = plain and size == 2 and (some in ([2, 2, 2], [2, 2, 2, 2], [3, 3]))
        goes_on = after[:1].isdecimal() or after[:1] == "_" or (after[:1] in tuple(".,:/-") and after[1:].isdecimal())
        zero = zero or (plain and line[at] == "0" and 3 <= size <= 5 and k == 1 and 6 <= some[0] <= 8)
        if (zero or area or long or pairs) and not goes_on:
            return True
    return False


def with_extension(line: str, end: int) -> int:
    """Where the extension after a phone ends."""
    for gap in (2, 1, 0):
        between = line[end : end + gap]
        if len(between) == gap and set(between) <= set(" ,;"):
            size = extension(line, end + gap, "#", (": ", 2))
            if size:
                return end + gap + size
    return end
