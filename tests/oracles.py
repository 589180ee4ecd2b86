"""Slow, plain twins of the fast code: each says in a few lines of Python what its kernel must answer."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
import urllib.parse
from collections import Counter

import numpy as np

from dataprep.messages import clean_rules
from dataprep.messages.arabic import UNITS
from dataprep.messages.emoji import PARTS
from dataprep.messages.names.kernel import MAX_GAP, MAX_PREFIXES, STRETCHED
from dataprep.messages.names.matching import BREAK, GAP, SKIPPED, folded
from dataprep.pii import rules as pii_rules
from dataprep.read.chats.whatsapp import kinds as whatsapp_words
from dataprep.unicode import text as kernels
from dataprep.unicode.text import ALPHA, SENTENCE, classes

# --- C4 (filters/c4.py) -----------------------------------------------------------------------------------------------

CITATION = re.compile(r"\[(?:\d*|edit|citation needed)\]")


def c4(text: str, rule) -> tuple[str | None, str, Counter]:
    """C4 on one page with the rules of `rule` (a `C4`): reason or None, the text left, lines by what became of them."""
    seen, valid, sentences = Counter(), [], 0
    for raw in text.splitlines():
        line = raw.strip()
        what = None
        if rule.max_word_chars is not None and any(len(w) > rule.max_word_chars for w in line.split()):
            seen["word_too_long"] += 1
            continue
        line = CITATION.sub("", line) if rule.citations else line
        lower = line.lower().replace("ς", "σ")
        if rule.end_marks and (not line.endswith(rule.end_marks) or line.endswith(rule.not_end_marks or ("\n",))):
            what = "no_end_mark"
        elif len(line.split()) < (rule.min_words or 0):
            what = "too_few_words"
        elif rule.lorem_ipsum and "lorem ipsum" in lower:
            return "lorem_ipsum", "", seen
        elif rule.javascript and "javascript" in lower:
            what = "javascript"
        elif rule.curly_bracket and "{" in line:
            return "curly_bracket", "", seen
        elif any(p.lower().replace("ς", "σ") in lower for p in rule.policy or ()):
            what = "policy"
        else:
            valid.append(line)
            sentences += c4_sentences(line.strip(), rule.sentence_marks)
        seen[what or "valid"] += 1
    left = "\n".join(valid).strip()
    if sentences < (rule.min_sentences or 0):
        return "too_few_sentences", "", seen
    return (None if left else "empty"), left, seen


def c4_sentences(line: str, marks: tuple[str, ...]) -> int:
    """One sentence, and one more behind each run of marks that ends one with text to come."""
    count = 1 if line else 0
    run = f"[{re.escape(''.join(marks))}]+" if marks else "(?!)"
    for m in re.finditer(rf"({run})([\"')\]}}»’”]*)(\s*)", line):
        before, after = line[: m.start()], line[m.end() : m.end() + 1]
        if not after or not (m[3] or ord(m[1][-1]) > 0x7F):
            continue
        small = (after.islower() or after.istitle()) and not after.isupper()
        initial = m[1] == "." and re.search(r"(?<![\w'])[^\W\d_]\Z", before)
        count += not (set(m[1]) == {"."} and (small or initial))
    return count


# --- BPE (tokens/) ----------------------------------------------------------------------------------------------------


def bpe_kind(c: str) -> str:
    """How the pattern "words" sees a character: Letter (marks too), Number, Space, Sign."""
    first = unicodedata.category(c)[0]
    if first in "LMN":
        return "N" if first == "N" else "L"
    return "Space" if c.isspace() and c not in "\x1c\x1d\x1e\x1f" else "Sign"  # four that only Python calls spaces


def bpe_words(text: str) -> list[str]:
    """The pattern "words", a character at a time: an optional sign and letters, digits by three, signs, white space."""

    def run(i: int, kind: str, most: int = len(text)) -> int:
        stop = i
        while stop < min(len(text), i + most) and bpe_kind(text[stop]) == kind:
            stop += 1
        return stop

    words, i = [], 0
    while i < len(text):
        led = i + (bpe_kind(text[i]) not in "LN" and text[i] not in "\r\n")
        spaced = i + (text[i] == " ")
        if (stop := run(led, "L")) == led and (stop := run(i, "N", 3)) == i:
            stop = run(spaced, "Sign")
            if stop > spaced:
                stop += len(text[stop:]) - len(text[stop:].lstrip("\r\n"))
            else:
                stop = run(i, "Space")
        words.append(text[i:stop])
        i = stop
    return words


def bpe_learn(words: Counter, n_merges: int, min_count: int, order) -> list[tuple[bytes, bytes]]:
    """BPE as published: count all pairs, merge the most frequent everywhere, again; `order` of bytes settles ties."""
    split = {word: tuple(bytes([b]) for b in word.encode()) for word in words}
    rank = {bytes([b]): order(b) for b in range(256)}
    merges: list[tuple[bytes, bytes]] = []
    while len(merges) < n_merges:
        pairs = Counter()
        for word, pieces in split.items():
            for pair in itertools.pairwise(pieces):
                pairs[pair] += words[word]
        best = max(pairs, key=lambda p: (pairs[p], -rank[p[0]], -rank[p[1]]), default=None)
        if best is None or pairs[best] < max(1, min_count):
            break
        merges.append(best)
        rank[best[0] + best[1]] = 256 + len(merges)
        split = {word: bpe_merge(pieces, best) for word, pieces in split.items()}
    return merges


def bpe_merge(pieces: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    """Every occurrence of the pair as one piece, from the left."""
    out, i = [], 0
    while i < len(pieces):
        met = pieces[i : i + 2] == pair
        out.append(pieces[i] + pieces[i + 1] if met else pieces[i])
        i += 1 + met
    return tuple(out)


def bpe_encode(text: str, merges) -> list[bytes]:
    """The tokens of a text: in each word, the rules one after the other, in the order they were learned."""
    tokens: list[bytes] = []
    for word in bpe_words(text):
        tokens += bpe_merge_all(word.encode(), merges)
    return tokens


def bpe_merge_all(word: bytes, merges) -> tuple[bytes, ...]:
    """The tokens of one word."""
    pieces = tuple(bytes([b]) for b in word)
    for pair in merges:
        pieces = bpe_merge(pieces, pair)
    return pieces


# --- JSON Lines (read/jsonl.py) ---------------------------------------------------------------------------------------


def jsonl(data: bytes, field: str, max_line: int) -> tuple[list, list]:
    """(position, text, the other fields) of good lines and (position, reason) of bad ones, by Python's own parser."""
    rows, bad, start = [], [], 0
    for number, line in enumerate(data.split(b"\n")):
        position, start = start, start + len(line) + 1
        line = b"   " + line[3:] if number == 0 and line.startswith(b"\xef\xbb\xbf") else line  # noqa: PLW2901
        reason, record = ("too_long", None) if len(line) > max_line else _parse(line)
        if reason is None and not isinstance(record, dict):
            reason = "not_an_object"
        elif reason is None and not isinstance(record.get(field), str):
            reason = "no_text"
        elif reason is None and any(0xD800 <= ord(c) <= 0xDFFF for c in record[field]):
            reason = "invalid_utf8"
        if reason is None:
            text = record.pop(field)
            rows.append((position, text, record))
        elif reason != "blank":
            bad.append((position, reason))
    return rows, bad


def _parse(line: bytes) -> tuple[str | None, object]:
    if not line.strip(b" \t\r"):
        return "blank", None
    try:
        return None, json.loads(line.decode(), parse_constant=lambda name: json.loads(name + "!"))
    except UnicodeDecodeError:
        return "invalid_utf8", None
    except ValueError:
        return "not_json", None


# --- text.py and dedup ------------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """The words of a text."""
    return re.findall(r"\w+", text.lower())


def normal(text: str, form: str) -> str:
    """A text's normal form."""
    if form == "words":
        return " ".join(words(text))
    return " ".join((text.lower() if form == "lower" else text).split())


def shingle_set(text: str, unit: str, n: int) -> set[tuple[str, ...]]:
    """The runs of n words, or n characters; one shorter run if there are fewer."""
    items = words(text) if unit == "word" else list(normal(text, "lower"))
    return {tuple(items[i : i + n]) for i in range(max(1, len(items) - n + 1))} if items else set()


def jaccard(a: set, b: set) -> float:
    """The Jaccard similarity of two sets, not both empty."""
    return len(a & b) / len(a | b)


def contained(a: set, b: set) -> float:
    """The share of the first set that the second has; the first is not empty."""
    return len(a & b) / len(a)


def near_duplicates(
    texts: list[str], order: list[int], threshold: float, unit: str, n: int, measure=jaccard
) -> dict[int, tuple]:
    """Who goes: {document: (first kept document, in keep order, that is similar enough, how similar)}."""
    sets = [shingle_set(t, unit, n) for t in texts]
    kept, gone = [], {}
    for d in order:
        hits = [(k, measure(sets[d], sets[k])) for k in kept if sets[d] and sets[k]]
        hit = next(((k, j) for k, j in hits if j >= threshold), None)
        if hit is None:
            kept.append(d)
        else:
            gone[d] = hit
    return gone


def same_texts(texts: list[str], order: list[int], form: str | None) -> dict[int, int]:
    """Who goes: {document: the first in keep order whose text is the same}; a text that empties is as it is."""
    first, gone = {}, {}
    for d in order:
        same = texts[d] if form is None else normal(texts[d], form) or (texts[d],) * bool(texts[d])
        if first.setdefault(same, d) != d:
            gone[d] = first[same]
    return gone


# --- Units of text (dedup/units, dedup/exact.py) ----------------------------------------------------------------------


TERMINALS = "".join(map(chr, np.flatnonzero(classes() & SENTENCE)))


def lines(text: str) -> list[str]:
    """The pieces between line feeds."""
    pieces = text.split("\n")
    return pieces if pieces[-1] else pieces[:-1]


def sentences(text: str) -> list[str]:
    """The sentences of a text; the rule of `c4_sentences` with every sentence terminal of Unicode."""
    found = []
    for line in text.splitlines():
        first = 0
        for m in re.finditer("([" + re.escape(TERMINALS) + r"]+)([\"')\]}»’”]*)(\s*)", line):
            before, after = line[: m.start()], line[m.end() : m.end() + 1]
            small = (after.islower() or after.istitle()) and not after.isupper()
            initial = m[1] == "." and re.search(r"(?<![\w'])[^\W\d_]\Z", before)
            inside = set(m[1]) == {"."} and (small or initial)
            if after and (m[3] or ord(m[1][-1]) > 0x7F) and not inside:
                found.append(line[first : m.end(2)].strip())
                first = m.end()
        found.append(line[first:].strip())
    return [s for s in found if s]


def unit_form(unit: str, form: str | None) -> str:
    """A unit's normal form."""
    if form == "c4":
        return unit.strip().lower()
    if form != "ccnet":
        return unit if form is None else normal(unit, form)
    left = [c for ch in unit.strip().lower() for c in unicodedata.normalize("NFD", ch)]
    left = [c for c in left if unicodedata.category(c) not in ("Mn", "Cc") or c.isspace()]
    left = ["0" if c.isdecimal() else c for c in left if unicodedata.category(c)[0] != "P"]
    return " ".join("".join(left).split())


def unit_places(text: str, unit: str) -> list[tuple[int, int]]:
    """Where the units of a text lie, in characters."""
    places, at = [], 0
    for piece in sentences(text) if unit == "span3" else lines(text):
        at = text.index(piece, at) if unit == "span3" else at
        places.append((at, at + len(piece)))
        at += len(piece) + (unit != "span3")
    if unit != "span3":
        return places
    return [(a, b) for (a, _), (_, b) in zip(places, places[2:], strict=False)]


def repeats(texts: list[str], unit: str, form: str | None) -> list[list[tuple]]:
    """The units of each text that occurred before: (start, end, text and start of the first), in characters."""
    first, found = {}, []
    for d, text in enumerate(texts):
        found.append([])
        for a, b in unit_places(text, unit):
            pieces = sentences(text[a:b]) if unit == "span3" else [text[a:b]]
            same = tuple(unit_form(piece, form) for piece in pieces)
            if "".join(same).strip() and first.setdefault(same, (d, a)) != (d, a):
                found[d].append((a, b, *first[same]))
    return found


def without(text: str, cuts: list[tuple[int, int]]) -> str:
    """The text without some ranges: those with only white space between them go as one, and the gap closes up."""
    runs = []
    for a, b in cuts:
        if runs and not text[runs[-1][1] : a].strip():
            runs[-1][1] = max(runs[-1][1], b)
        else:
            runs.append([a, b])
    for a, b in reversed(runs):
        left, right = text[:a].rstrip(), text[b:].lstrip()
        inner = text[len(left) : len(text) - len(right)].split(text[a:b].strip())
        before, behind = inner[0], inner[-1]
        rest = behind[behind.rfind("\n") + 1 :] if "\n" in behind else ""
        blanks = re.match(r"[^\r\n]*", before)[0] if "\n" in before else ""
        if not left:
            gap = rest if right else ""
        elif not right or behind.count("\n") >= before.count("\n"):
            gap = blanks + behind
        else:
            gap = before[: before.rfind("\n") + 1] + rest if "\n" in behind else before
        text = left + gap + right
    return text


# --- Conversations (chat/conversations.py) ----------------------------------------------------------------------------


def conversations(rows: list[dict], stage) -> list[tuple]:
    """(id, text, messages, latest time) of the talks that a list of messages makes."""
    talks: list[dict] = []
    of_chat: dict = {}
    gap, reply_gap = stage.seconds
    read = 0
    for row in rows:
        line = stage.line.replace("{author}", "\0").replace("{text}", row["text"]).replace("\0", row["author"] or "")
        line = line if row["author"] else row["text"]
        n = len((line + stage.separator).encode())
        talk = of_chat.get(row["chat"])
        near = talk and talk["last"] and row["time"] and read + n - talk["begin"] <= stage.max_bytes
        if near:
            apart = abs((row["time"] - talk["last"]).total_seconds())
            answers = row["reply_to"] is not None and talk["id"] <= row["reply_to"] < row["id"]
            near = apart < gap or (answers and apart < reply_gap)
        if not near:
            talk = of_chat[row["chat"]] = {"id": row["id"], "begin": read, "lines": [], "times": []}
            talks.append(talk)
        talk["last"] = row["time"]
        talk["lines"].append(line)
        talk["times"].append(row["time"])
        read += n
    return [(t["id"], stage.separator.join(t["lines"]), len(t["lines"]), max(t["times"])) for t in talks]


# --- CleanMessages (chat/clean.py): one message at a time, every rule on each -----------------------------------------


def clean_message(text: str, stage) -> tuple[str, Counter]:
    """A message of kind text after every rule, and how often each changed it."""
    counts = Counter()
    text = text.replace("\x1d", "").replace("\x1e", "")
    spans = list(clean_rules.links(text)) if stage.links is None else []
    kept = [text[a:b] for a, b in spans]
    for a, b in reversed(spans):
        text = text[:a] + "\x1d" + text[b:]
    for rule in stage._rules():
        if rule.name == "repeats":
            runs = ["".join(run) for _, run in itertools.groupby(text)]
            long = [len(r) > stage.max_repeat and not _IS_FREE.match(r) for r in runs]
            text, n = "".join(r[: stage.max_repeat] if b else r for r, b in zip(runs, long, strict=True)), sum(long)
        else:
            text, n = rule.change(text)
        counts[rule.name] += n
    for link in kept:
        text = text.replace("\x1d", link, 1)
    return text, +counts


_IS_FREE = re.compile(rf"[\d\s{PARTS}]")


# --- SuffixIndex (dedup/suffix_index.py) ------------------------------------------------------------------------------


def occurrences(texts: list[str], query: str) -> list[tuple[int, int]]:
    """(document, byte) of every occurrence, also of those that overlap."""
    found = []
    for d, text in enumerate(texts):
        at = text.find(query)
        while at >= 0:
            found.append((d, len(text[:at].encode())))
            at = text.find(query, at + 1)
    return found


def longest_shared(text: str, texts: list[str]) -> str:
    """The piece of whole characters with the most bytes that stands in one of `texts`; the first of these."""
    pieces = (text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1))
    return max((p for p in pieces if any(p in t for t in texts)), key=lambda p: len(p.encode()), default="")


# --- Bloom (dedup/bloom.py): with a set in the filter's place ---------------------------------------------------------


def seen_documents(texts: list[str], form: str | None) -> list[int]:
    """The documents whose text was seen before."""
    seen, gone = set(), []
    for d, text in enumerate(texts):
        key = unit_form(text, form)
        key = key if key.strip() else text
        gone += [d] if key in seen else []
        seen.add(key)
    return gone


def seen_paragraphs(texts: list[str], form: str | None) -> list[tuple[int, int, int]]:
    """(document, start, end) in bytes of what goes with the lines that were seen before."""
    seen, gone = set(), []
    for d, text in enumerate(texts):
        found, again = _lines_with_text(text), []
        for line, _, _ in found:
            key = unit_form(line, form)
            again.append(key in seen)
            seen |= {key} if key.strip() else set()
        gone += [(d, *span) for span in _runs_that_go(text, found, again)]
    return gone


def seen_ngrams(texts: list[str], n: int, threshold: float) -> list[tuple[int, int, int]]:
    """(document, start, end) of what goes with the lines, or documents, whose runs of n words earlier documents had."""
    seen, gone = set(), []
    for d, text in enumerate(texts):
        found = _lines_with_text(text)
        runs = [runs_of(line, n) for line, _, _ in found]
        again = [bool(of) and sum(r in seen for r in of) >= threshold * len(of) for of in runs]
        of_all = [r in seen for of in runs for r in of]
        if of_all and sum(of_all) >= threshold * len(of_all):
            again = [True] * len(found)
        seen |= {r for of, goes in zip(runs, again, strict=True) if not goes for r in of}
        gone += [(d, *span) for span in _runs_that_go(text, found, again)]
    return gone


def runs_of(line: str, n: int) -> list[tuple[str, ...]]:
    """The runs of n words."""
    items = words(line)
    return [tuple(items[i : i + n]) for i in range(len(items) - n + 1)]


def _lines_with_text(text: str) -> list[tuple[str, int, int]]:
    """The lines that are not blank, with their start and end in bytes."""
    found, at = [], 0
    for line in lines(text):
        found.append((line, at, at + len(line.encode())))
        at = found[-1][2] + 1
    return [(line, a, b) for line, a, b in found if line.strip()]


def _runs_that_go(text: str, found: list, goes: list[bool]) -> list[tuple[int, int]]:
    """Lines in a row that go are one span, with the shorter gap beside them, or all there is to a text's end."""
    spans = []
    for is_gone, run in itertools.groupby(range(len(found)), goes.__getitem__):
        first, *_, last = [*run] * 2
        if is_gone:
            before = found[first - 1][2] if first > 0 else None
            behind = found[last + 1][1] if last + 1 < len(found) else None
            start, end = found[first][1], found[last][2]
            if before is None or behind is None:
                spans.append((before or 0, len(text.encode()) if behind is None else behind))
            else:
                spans.append((before, end) if behind - end >= start - before else (start, behind))
    return spans


# --- SemDeDup (dedup/semantic.py) ------------------------------------------------------------------------------------


def on_grid(vectors) -> np.ndarray:
    """Each row scaled to a length of at most 4,096 and rounded; zeros stay zeros."""
    rows = np.asarray(vectors, np.float64)
    out = np.zeros(rows.shape, np.int64)
    for i, row in enumerate(rows):
        if row.any():
            unit = row / np.abs(row).max()
            out[i] = np.rint(unit / math.sqrt(math.fsum(unit**2)) * (4096 - math.sqrt(len(row)) / 2))
    return out


def cosine(a, b) -> float:
    """The cosine of two whole vectors to four digits; nothing is similar to zeros."""
    size = math.sqrt(int(a @ a)) * math.sqrt(int(b @ b))
    return min(1.0, round(int(a @ b) / size, 4)) if size else -1.0


def semantic_duplicates(vectors, order: list[int], epsilon: float, labels=None) -> dict[int, tuple[int, float]]:
    """Who goes: {document: (first kept one of its cluster, in keep order, above 1 - epsilon, the cosine)}."""
    grid, kept, gone = on_grid(vectors), [], {}
    for d in order:
        mates = [k for k in kept if labels is None or labels[k] == labels[d]]
        hit = next((k for k in mates if cosine(grid[d], grid[k]) > round(1 - epsilon, 4)), None)
        if hit is None:
            kept.append(d)
        else:
            gone[d] = (hit, cosine(grid[d], grid[hit]))
    return gone


def spherical_k_means(sample, k: int, iterations: int) -> np.ndarray:
    """Lloyd's iterations by cosine from the first k different rows; an empty cluster's centroid stays."""
    centroids = np.array(list(dict.fromkeys(map(tuple, sample[: 8 * k].tolist())))[:k])
    for _ in range(iterations):
        size = (1 / np.sqrt((centroids**2).sum(1))).astype(np.float32)
        labels = [int(np.argmax((row @ centroids.T).astype(np.float32) * size)) for row in sample]
        sums = np.array([sum((r for r, m in zip(sample, labels, strict=True) if m == c), sample[0] * 0)
                         for c in range(len(centroids))])  # fmt: skip
        centroids = np.where(sums.any(1)[:, None], on_grid(sums), centroids)
    return centroids


def word_sums(text: str, rows: dict[str, int], vectors, rare: int) -> np.ndarray:
    """The sum of the vectors of a text's words; a word without a row has one of the last `rare`, by its hash."""
    total = np.zeros(vectors.shape[1], np.int64)
    for word in words(text):
        _, hashes = kernels.words(np.array([0, len(word.encode())]), np.frombuffer(word.encode(), np.uint8))
        total += vectors[rows.get(word, len(vectors) - rare + (int(hashes[0]) >> 32) % rare)]
    return total


# --- SuffixArray (dedup/suffix.py) ------------------------------------------------------------------------------------


def windows_of(text: str, width: int, by_word: bool) -> list[tuple[int, int]]:
    """Where windows start and end, in bytes."""
    if not by_word:
        return [(i, i + width) for i in range(len(text.encode()) - width + 1)]
    size = [len(text[: m.start()].encode()) for m in re.finditer(r"\w+", text)]
    ends = [len(text[: m.end()].encode()) for m in re.finditer(r"\w+", text)]
    return list(zip(size, ends[width - 1 :], strict=False))


def repeated_spans(texts: list[str], width: int, by_word: bool, cut: str) -> list[tuple[int, int, int, int, int]]:
    """What is cut: (document, start, end, document and place of the first occurrence), in UTF-8 bytes."""
    first, spans = {}, []
    for d, text in enumerate(texts):
        data, gone, met = text.encode(), bytearray(len(text.encode())), {}
        for start, end in windows_of(text, width, by_word):
            place = first.setdefault(data[start:end], (d, start))
            if place != (d, start):
                met[start] = place
                gone[start:end] = b"x" * (end - start)
        for piece in re.finditer(rb"x+", bytes(gone)):
            inside = [i for i in allowed_cuts(text, cut) if piece.start() <= i <= piece.end()]
            if inside and inside[0] < inside[-1]:
                window = max(s for s in met if s <= inside[0])
                other, at = met[window]
                spans.append((d, inside[0], inside[-1], other, at + inside[0] - window))
    return spans


def allowed_cuts(text: str, cut: str) -> list[int]:
    """The places in bytes where a text may be cut: between code points; not inside words; where lines begin."""
    inside = {"char": "(?!)", "word": r"(?<=\w)(?=\w)", "line": r"(?<=[^\n])(?!\Z)"}[cut]
    bad = {m.start() for m in re.finditer(inside, text)}
    return [len(text[:i].encode()) for i in range(len(text) + 1) if i not in bad]


# N-gram models ------------------------------------------------------------------------------------------------------


def kneser_ney(lines, order, prune, fallback):
    """Modified Kneser-Ney by definition: {n-gram: (log10 probability, log10 back-off)}, None without discounts."""
    actual, before = [Counter() for _ in range(order + 1)], [{} for _ in range(order + 1)]
    for line in lines:
        words = ("<s>", *line.split(), "</s>")
        for n in range(1, order + 1):
            for i in range(len(words) - n + 1):
                gram = words[i : i + n]
                actual[n][gram] += gram != ("<s>",)
                before[n].setdefault(gram, set()).update(words[i - 1 : i])
    actual[1][("<unk>",)] = actual[1][("<s>",)] = 0

    def adjust(n, gram):
        raw = n == order or (gram[0] == "<s>" and n > 1)
        return actual[n][gram] if raw else len(before[n].get(gram, ()))

    adjusted = [{g: adjust(n, g) for g in actual[n]} for n in range(order + 1)]
    model, lower = {}, {}
    for n in range(1, order + 1):
        t = Counter(adjusted[n].values())
        off = fallback
        if t[1] and t[2] and t[3]:
            found = [j - (j + 1) * t[1] / (t[1] + 2 * t[2]) * t[j + 1] / t[j] for j in (1, 2, 3)]
            off = found if all(0 <= d <= j for j, d in enumerate(found, 1)) else fallback
        if off is None:
            return None
        off = (0, *off)
        kept = {g for g in actual[n] if n == 1 or actual[n][g] > prune[n - 1]}
        total, left = Counter(), Counter()
        for g, count in adjusted[n].items():
            total[g[:-1]] += count
            left[g[:-1]] += off[min(count, 3)] if g in kept else count
        now = {}
        for g in kept:
            below = lower[g[1:]] if n > 1 else 1 / (len(actual[1]) - 1)
            rest = left[g[:-1]] / total[g[:-1]] * below
            now[g] = (adjusted[n][g] - off[min(adjusted[n][g], 3)]) / total[g[:-1]] + rest
        lower = now | ({("<s>",): 1.0} if n == 1 else {})
        for context in total if n > 1 else ():
            if context in model:
                share = left[context] / total[context]
                model[context] = (model[context][0], math.log10(share) if share else -99)
        model |= {g: (math.log10(p) if p else -99, 0.0) for g, p in lower.items()}
    return model


def ccnet_perplexity(text, score, glued):
    """A document's perplexity as `cc_net` computes it; `score` gives a sentence's log10 probability."""
    marks = dict(zip("，。、„”“«»」「《》´∶：？！（）；–", ",.,\"\"\"\"\"\"\"\"\"'::?!();-", strict=True))
    marks |= {"．": ". ", "～": "~", "’": "'", "…": "...", "━": "-", "〈": "<", "〉": ">", "【": "[", "】": "]"}
    marks |= {"％": "%", "►": "-", "—": " - "}

    def normal(line):
        line = "".join(c for c in unicodedata.normalize("NFD", line.strip().lower()) if unicodedata.category(c) != "Mn")
        line = re.sub(r"\d", "0", line)
        return re.sub("[\x00-\x1f\x7f-\x9f]", "", "".join(marks.get(c, c) for c in line))

    lines = [" ".join(normal(line).split()) for line in ([text] if glued else text.split("\n"))]
    lines = [line for line in lines if line]
    n_words = sum(len(line.split()) + 1 for line in lines)
    return 10 ** (-sum(map(score, lines)) / n_words) if lines else None


# --- Gopher and FineWeb (filters/gopher.py, filters/fineweb.py) ------------------------------------------------------


def gopher(text: str, rule, lists) -> dict[str, float]:
    """The scores of Gopher for one text; `lists` are its lists of stop words."""
    words, lines, paragraphs = text.split(), lines_of(text), paragraphs_of(text)
    chars = sum(map(len, words))
    letters = {re.sub(r"\W", "", w.lower()).replace("ς", "σ") for w in words}
    stops = [{re.sub(r"\W", "", w.lower()).replace("ς", "σ") for w in ws} for ws in lists]
    out = {
        "words": len(words),
        "mean_word_chars": share(chars, len(words)),
        "hashes": share(text.count("#"), len(words)),
        "ellipses": share(text.count("...") + text.count("…"), len(words)),
        "bullet_lines": share(sum(line.startswith(rule.bullets) for line in lines), len(lines)),
        "ellipsis_lines": share(sum(line.endswith(("...", "…")) for line in lines), len(lines)),
        "alphabetic": share(sum(any(c.isalpha() for c in w) for w in words), len(words)),
        "stop_words": max((len(letters & s) for s in stops), default=0),
    }
    dup_lines, dup_line_chars = repeated_units(lines)
    dup_paragraphs, dup_paragraph_chars = repeated_units(paragraphs)
    out |= {
        "dup_lines": share(dup_lines, len(lines)),
        "dup_paragraphs": share(dup_paragraphs, len(paragraphs)),
        "dup_line_chars": share(dup_line_chars, chars),
        "dup_paragraph_chars": share(dup_paragraph_chars, chars),
    }
    for n in range(2, 11):
        grams = list(zip(*(words[k:] for k in range(n)), strict=False))
        top = max(Counter(grams).items(), key=lambda item: item[1], default=((), 0))
        late = {k + i for k, g in enumerate(grams) if g in grams[:k] for i in range(n)} if n > 4 else ()
        of_top = top[1] * sum(map(len, top[0])) if top[1] > 1 else 0
        out |= {f"top_{n}gram": share(of_top, chars)} if n < 5 else {
            f"dup_{n}gram": share(sum(len(words[k]) for k in late), chars)
        }  # fmt: skip
    return {f"gopher_{name}": value for name, value in out.items()}


def fineweb(text: str, rule) -> dict[str, float]:
    """The scores of FineWeb for one text."""
    lines, chars = lines_of(text), sum(map(len, text.split()))
    breaks = len((text + "x").splitlines()) - 1
    return {
        "fineweb_end_mark_lines": share(sum(line.endswith(rule.end_marks) for line in lines), len(lines)),
        "fineweb_short_lines": share(sum(len(line) <= rule.short_line_chars for line in lines), len(lines)),
        "fineweb_dup_line_chars": share(repeated_units(lines)[1], chars),
        "fineweb_breaks": share(breaks, len(text.split())),
    }


def share(part: int, whole: int) -> float:
    """The fraction, 0 of nothing."""
    return part / whole if whole else 0.0


def lines_of(text: str) -> list[str]:
    """The lines that are not blank, stripped."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def paragraphs_of(text: str) -> list[str]:
    """Lines without a blank line between them."""
    groups = itertools.groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return ["\n".join(group) for full, group in groups if full]


def repeated_units(units: list[str]) -> tuple[int, int]:
    """How many of the units were there before, word by word, and the characters of their words."""
    split = [tuple(u.split()) for u in units]
    again = [u for k, u in enumerate(split) if u in split[:k]]
    return len(again), sum(len(w) for u in again for w in u)


# --- Pages (read/html_kernel.py) --------------------------------------------------------------------------------------


def html_work(html, names, free):
    """What a page's tags cost: open elements of `names` and attributes of a tag, each beyond `free`."""
    opened, total, i = Counter(), 0, 0
    value = r"""=[\x00-\x20]*(?:"[^"]*(?:"|$)|'[^']*(?:'|$))?"""
    tag = re.compile(rf"<(/?)([a-zA-Z](?:(?![\x00-\x20/>]).)*)((?:{value}|[^>=])*)", re.DOTALL)
    while (i := html.find("<", i)) >= 0:
        if html.startswith("<!--", i):
            end = re.compile("-->").search(html, i + 2)
            i = end.end() - 1 if end else len(html)
            continue
        found = tag.match(html, i)
        if not found:
            i += 1
            continue
        closing, name, rest = found.groups()
        i = found.end()
        rest = re.sub(value, lambda m: "" if m[0].strip("= \n") == "" else " ", rest)
        total += sum(max(0, k - free) for k in range(1, len(re.split(r"[\x00-\x20/]+", " " + rest + " ")) - 1))
        name = name.lower()
        if name in names:
            opened[name] += -1 if closing and opened[name] else 0 if closing else 1
        if closing:
            continue
        total += max(0, sum(opened.values()) - free)
        if name in {"script", "style"}:
            end = re.compile("</s", re.IGNORECASE).search(html, i)
            i = end.start() if end else len(html)
    return total


# --- RefinedWeb (filters/refinedweb.py) -------------------------------------------------------------------------------


def refinedweb(text: str, rule) -> tuple[str | None, str, Counter]:
    """RefinedWeb on one text: reason or None, the text left, lines by what became of them."""
    seen, left, before, after = Counter(), [], 0, 0
    inf = float("inf")
    for raw in text.splitlines(keepends=True):
        line, ending = raw.splitlines()[0], raw[len(raw.splitlines()[0]) :]
        words, chars = line.split(), "".join(line.split())
        before += len(words)
        if not words:
            left.append(raw)
            continue
        what, edited = "valid", None
        if sum(c.isupper() for c in chars) > (inf if rule.max_upper is None else rule.max_upper) * len(chars):
            what = "upper_case"
        elif sum(c.isnumeric() for c in chars) > (inf if rule.max_numeric is None else rule.max_numeric) * len(chars):
            what = "numbers"
        elif is_counter(line, rule.counters):
            what = "counter"
        elif len(words) < (rule.min_line_words or 0):
            what = "few_words"
        elif len(words) <= (rule.max_edit_words or 0):
            edited = without_phrases(line.strip(), rule)
            what = "valid" if edited == line.strip() else "edited"
        seen[what] += 1
        if what == "valid":
            left.append(raw)
            after += len(words)
        elif what == "edited" and edited.strip():
            left.append(edited.strip() + ending)
            after += len(edited.split())
    if before - after > (inf if rule.max_removed_words is None else rule.max_removed_words) * before:
        return "removed_words", "", seen
    return ("empty", "", seen) if after == 0 else (None, "".join(left), seen)


def fold_chars(text: str) -> str:
    """Lower case, one character for one."""
    return "".join("σ" if c == "ς" else "i" if c == "\u0130" else c for c in map(_lower_one, text))


def _lower_one(c: str) -> str:
    return c.lower() if len(c.lower()) == 1 else "i"


def is_counter(line: str, counters: tuple[str, ...]) -> bool:
    """A number and a counter."""
    number, thing = [*re.split(r"\s", line.strip(), maxsplit=1), ""][:2]
    bare = re.sub(r"^\W+|\W+$", "", thing)
    return bool(re.fullmatch(r"\d+[kmbKMB]?", re.sub(r"\W", "", number))) and fold_chars(bare) in {
        fold_chars(c) for c in counters
    }


def without_phrases(line: str, rule) -> str:
    """The line without a phrase at its start, one at its end, and those in between."""
    prefixes, suffixes, anywhere = (
        sorted(map(fold_chars, phrases), key=len, reverse=True)
        for phrases in (rule.prefixes, rule.suffixes, rule.anywhere)
    )
    for phrase in [p for p in prefixes if fold_chars(line).startswith(p)][:1]:
        line = line[len(phrase) :]
    for phrase in [p for p in suffixes if fold_chars(line).endswith(p)][:1]:
        line = line[: -len(phrase)]
    out, i = "", 0
    while i < len(line):
        found = [p for p in anywhere if fold_chars(line).startswith(p, i)]
        out, i = (out, i + len(found[0])) if found else (out + line[i], i + 1)
    return out


# --- Language (filters/units_kernel.py) -------------------------------------------------------------------------------


def language_units(text: str, unit: str, max_bytes: int, min_letters: int) -> list[tuple[str, int]]:
    """What a model is shown of a text: the start of each unit with enough letters, and the bytes of the whole unit."""
    breaks = {"document": r"\Z", "line": r"\n", "paragraph": r"\n[ \t\r]*(?=\n|\Z)"}
    found = []
    for piece in re.split(breaks[unit], text):
        start = piece.encode()[:max_bytes].decode("utf-8", "ignore")
        letters = sum(bool(classes()[ord(c)] & ALPHA) for c in start)
        if letters >= min_letters and start:
            found.append((start, len(piece.encode())))
    return found


# --- BadWords (filters/badwords.py) -----------------------------------------------------------------------------------


def bad_words(text: str, entries: tuple[str, ...], whole_words: bool) -> int:
    """The places of a text where an entry ends."""
    folded, part = fold_chars(text), [bool(re.match(r"\w", c)) or unicodedata.category(c)[0] == "M" for c in text]

    def ends_at(entry: str, i: int) -> bool:
        a = i - len(entry)
        if a < 0 or folded[a:i] != fold_chars(entry):
            return False
        return not whole_words or not (part[a - 1 : a] == [True] or part[i : i + 1] == [True])

    return sum(any(ends_at(e, i) for e in entries) for i in range(1, len(text) + 1))


# --- Hosts (filters/hosts.py) -----------------------------------------------------------------------------------------


def host_and_path(url: str) -> tuple[str, str]:
    """The host of a URL or of an entry of a list, and what follows it."""
    rest = url.replace("\\", "/").split("//", 1)[-1]
    end = min([rest.find(c) for c in "/?#" if c in rest] or [len(rest)])
    host = rest[:end].split("@")[-1].split(":")[0].lower().strip("*").strip(".")
    return host.encode("idna").decode(), urllib.parse.unquote(rest[end:])


def _under(url: str, entry: str) -> bool:
    (host, path), (domain, listed) = host_and_path(url), host_and_path(entry)
    if listed.strip("/"):
        place = path[: len(listed)] == listed and (path[len(listed) :] or "/")[0] in "/?#;"
        return host.removeprefix("www.") == domain and (place or (listed[-1] == "/" and path.startswith(listed)))
    return host == domain or (host.endswith("." + domain) and not host[-1].isdigit())


def host_reason(url: str | None, block, allow, words) -> str | None:
    """Why `Hosts` drops a document with this URL."""
    if not url or " " in url or not host_and_path(url)[0]:
        return None
    hits = [entry for entry in block if _under(url, entry)]
    if any(not host_and_path(entry)[1].strip("/") for entry in hits):
        return "blocked_host"
    if hits or any(word in urllib.parse.unquote(url).lower() for word in words):
        return "blocked_url"
    return "host_not_allowed" if allow and not any(_under(url, entry) for entry in allow) else None


# --- Decontaminate (filters/decontaminate.py) -------------------------------------------------------------------------


def contamination(text: str, questions: list[str], ngram: int, min_words: int) -> tuple[int, list[int]]:
    """At how many places a run of the questions stands, and which questions they are of (the first that has it)."""
    owner: dict[tuple[str, ...], int] = {}
    for number, question in enumerate(questions, 1):
        said = words(question)
        if len(said) >= min(ngram, min_words):
            for j in range(max(1, len(said) - ngram + 1)):
                owner.setdefault(tuple(said[j : j + ngram]), number)
    said = words(text)
    spans = (tuple(said[j : j + n]) for j in range(len(said)) for n in range(1, min(ngram, len(said) - j) + 1))
    found = [owner[s] for s in spans if s in owner]
    return len(found), sorted(set(found))


# --- PII (filters/pii.py) ---------------------------------------------------------------------------------------------


def pii(text: str, stage) -> tuple[str, Counter]:
    """The text with everything personal replaced, and how often each kind was found: patterns over the whole text."""
    found, out, at = pii_rules.find(text, stage.kinds), "", 0
    for start, end, kind in found:
        out, at = out + text[at:start] + stage.replace.replace("{kind}", kind), end
    return out + text[at:], Counter(kind for _, _, kind in found)


def luhn(digits: str) -> bool:
    """Every second digit from the right doubled, its digits summed; all together a multiple of ten."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += int(digit) if place % 2 == 0 else sum(int(d) for d in str(2 * int(digit)))
    return total % 10 == 0


def iban_check(iban: str) -> str:
    """The two check digits that an IBAN's country and account need: 98 less the remainder."""
    moved = iban[4:] + iban[:2] + "00"
    rest = 0
    for c in moved:
        for digit in str("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(c)):
            rest = (rest * 10 + int(digit)) % 97
    return f"{98 - rest:02}"


# --- WhatsApp's own words (read/chats/whatsapp_words.py) --------------------------------------------------------------


def whatsapp(messages: list[tuple[str, bool]]) -> list[tuple[str, str, str]]:
    """Kind, text and meta of (said, whether somebody speaks), with the rules of the module but none passed over."""
    w = whatsapp_words
    marked = any(c in said.split("\n")[0] for said, _ in messages for c in "\u200e\u200f")
    out = []
    for said, speaks in messages:
        meta, left = {}, said
        bare = said.rstrip(w.MARKS + w.SPACES + "\n")
        start = bare.rfind("<")
        inside = bare[start + 1 : -1]
        tail = start >= 0 and bare.endswith(">") and 3 <= len(inside) <= 60 and "\n" not in inside
        if tail and w.bare(inside) in w.EDITED:
            left, meta = said[:start].rstrip(w.MARKS), {"edited": True}
            left = left[:-1] if left.endswith(tuple(w.SPACES)) else left
        kind, name = w.kind_of(left, speaks=speaks, marked=marked)
        meta = {"file": name, **meta} if name else meta
        out.append((kind, left.strip(w.EDGES), json.dumps(meta, ensure_ascii=False) if meta else "{}"))
    return out


# --- names in texts (chat/names_kernel.py) ---------------------------------------------------------------------------

NO_LETTER = (SKIPPED, GAP, BREAK)


def names_in(text: str, terms: list[str], prefixes: str) -> list[tuple[int, int, int]]:
    """(first, end, term) in characters: at each word the longest term, else behind at most two prefixes."""
    kinds = [int(folded()[ord(c)]) for c in text]
    found, i = [], 0
    while i < len(text):
        if kinds[i] in NO_LETTER or next((k for k in reversed(kinds[:i]) if k), GAP) not in NO_LETTER:
            i += 1
            continue
        letters = [j for j in range(i, len(text)) if kinds[j] not in NO_LETTER][: MAX_PREFIXES + 1]
        hit = None
        for tried, at in enumerate(letters):
            before = [kinds[j] for j in letters[:tried]]
            if any(k not in map(ord, prefixes) for k in before) or any(kinds[j] in NO_LETTER[1:] for j in range(i, at)):
                break
            ends = [(e, n) for n, t in enumerate(terms) for e in [name_end(kinds, at, t)] if e]
            if ends:
                end, term = max(ends)
                hit = (at, end, term)
                break
        found += [hit] if hit else []
        i = hit[1] if hit else i + 1
    return found


def name_end(kinds: list[int], i: int, term: str) -> int | None:
    """Where a term that begins at `i` ends, as a whole word or stretched; None if it does not stand there."""
    for c in term:
        while i < len(kinds) and kinds[i] == SKIPPED:
            i += 1
        if c == " ":
            start = i
            while i < len(kinds) and kinds[i] in (SKIPPED, GAP):
                i += 1
            if not 1 <= kinds[start:i].count(GAP) <= MAX_GAP:
                return None
        elif i == len(kinds) or kinds[i] != ord(c):
            return None
        else:
            i += 1
    rest = i
    while rest < len(kinds) and kinds[rest] in (SKIPPED, ord(term[-1])):
        rest += 1
    more = kinds[i:rest].count(ord(term[-1]))
    while rest > i and kinds[rest - 1] == SKIPPED:
        rest -= 1
    follows = next((k for k in kinds[rest:] if k != SKIPPED), BREAK)
    if follows not in (GAP, BREAK) or 0 < more < STRETCHED:
        return None
    return rest if more else i


# --- rows for training ------------------------------------------------------------------------------------------------


def best_fit_rows(sizes: list[int], room: int) -> list[list[int]]:
    """Best-fit decreasing, one by one: each item, largest first, into the fullest row that still holds it."""
    rows: list[list[int]] = []
    for size in sorted(sizes, reverse=True):
        fitting = [row for row in rows if sum(row) + size <= room]
        if not fitting:
            fitting = [[]]
            rows.append(fitting[0])
        max(fitting, key=sum).append(size)
    return rows


# --- two exports of one chat (chat/doubles.py) ------------------------------------------------------------------------


def doubles(files: list[int], rows: list[dict]) -> set[tuple[int, int]]:
    """(the row that is doubled, the row that stays) for rows with chat, author, time (seconds), kind and text."""
    media = ("image", "video", "audio", "gif", "sticker", "file")
    fine = {(f, r["chat"]) for f, r in zip(files, rows, strict=True) if r["time"] is not None and r["time"] % 60}
    exports: dict[tuple, list[int]] = {}
    for k, (f, r) in enumerate(zip(files, rows, strict=True)):
        if r["time"] is not None and r["chat"] is not None:
            exports.setdefault((r["chat"], (f, r["chat"]) not in fine, f), []).append(k)
    found: set[tuple[int, int]] = set()
    kept: dict[str, list[int]] = {}
    for (chat, coarse, _), export in sorted(exports.items()):
        unit = 60 if coarse else 1
        free, left = list(kept.get(chat, [])), list(export)
        for loose in (False, True):
            free = sorted(free) if loose else free
            for new in list(left):
                a = rows[new]
                alike = [
                    k for k in free
                    if rows[k]["author"] == a["author"] and rows[k]["time"] // unit == a["time"] // unit
                    and _same(rows[k], a, media, loose=loose)
                ]  # fmt: skip
                if alike:
                    found.add((new, alike[0]))
                    free.remove(alike[0])
                    left.remove(new)
        kept.setdefault(chat, []).extend(left)
    return found


def _same(a: dict, b: dict, media: tuple[str, ...], *, loose: bool) -> bool:
    if not loose:
        return (a["kind"], a["text"]) == (b["kind"], b["text"])
    both_media = a["kind"] in media and b["kind"] in media
    return both_media and a["text"].partition("\n")[2] == b["text"].partition("\n")[2]


# --- WhatsApp's headers (read/chats/whatsapp_scan.py) -----------------------------------------------------------------

_SKIP = "[ \t\u00a0\u061c\ufeff\u2009-\u200f\u202a-\u202f\u2066-\u2069]"
_DIGIT = "[0-9\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59\u1040-\u1049\uff10-\uff19]"
_WORD = rf"(?:(?!{_DIGIT})[^\x00-\x08\x0a-\x1f!-&(-\-/:;\[\]\u060c\u2013\u2014])*"
_ERA = rf"(?:(?:\.|{_SKIP})*(?P<era>[RHSrhs]|令和?|平成?|昭和?|民[國国]|西暦|公元)(?:\.|{_SKIP})*)?"
_DATE = (
    rf"(?:(?P<first>{_WORD}元年)|{_ERA}(?P<a>{_DIGIT}{{1,4}}){_SKIP}*(?P<s1>[-./,年년])){_SKIP}*"
    rf"(?P<b>{_DIGIT}{{1,2}}){_SKIP}*(?P<s2>[-./,月월]){_SKIP}*(?P<c>{_DIGIT}{{1,4}})(?!{_DIGIT})(?:{_SKIP}*[日일])?"
)
_TIME = (
    rf"(?P<h>{_DIGIT}{{1,2}}){_SKIP}*(?P<mark>[:.h]){_SKIP}*(?P<m>{_DIGIT}{{2}})(?!{_DIGIT})"
    rf"(?:(?P=mark)(?P<s>{_DIGIT}{{2}})(?!{_DIGIT}))?(?P<late>{_WORD})"
)
_START, _END = rf"{_SKIP}*(?P<bracket>\[)?{_SKIP}*", rf"(?(bracket)\] ?|(?P<end>[-–—:;])(?=\s|$|{_SKIP})[ \u00a0]?)"
_DATE_FIRST = re.compile(rf"{_START}{_DATE}(?P<w1>{_WORD})[-,\u060c]?(?P<w2>{_WORD}){_TIME}{_END}")
_TIME_FIRST = re.compile(rf"{_START}(?P<w1>{_WORD}){_TIME}[-,\u060c]?{_SKIP}*{_DATE}(?P<w2>{_WORD}){_END}")


def whatsapp_header(line: str) -> tuple[int, tuple[int, int, int], int] | None:
    """Where the header of a line ends (in characters), its three numbers as written, and the second of the day."""
    from dataprep.read.chats.whatsapp import headers as H
    from dataprep.read.chats.whatsapp import scan as S

    head = line.encode()[1:12].split(b"\n")[0]
    if line[:1] in {" ", "\t"} or (re.match("[A-Za-z]", line) and not re.search(rb"[0-9\xc2-\xff]", head)):
        return None
    found = _DATE_FIRST.match(line) or _TIME_FIRST.match(line)
    if found is None:
        return None
    meanings = {_plain(word, H): code for word, code in reversed(H._meanings().items())}
    words = [meanings.get(_plain(found[k] or "", H), S.UNKNOWN) if _plain(found[k] or "", H) else 0
             for k in ("era", "w1", "w2", "late")]  # fmt: skip
    a, b, c, h, m, s = (int(found[k] or 0) for k in ("a", "b", "c", "h", "m", "s"))
    n_a, n_c = len(found["a"] or ""), len(found["c"])
    year_sign = bool(found["first"]) or found["s1"] in "年년"
    if (found["s2"] in "月월") != year_sign or not (year_sign or found["s1"] == found["s2"]):
        return None
    if found["first"]:
        a = meanings.get(_plain(found["first"], H), S.UNKNOWN) - S.FIRST_YEAR
    elif words[0] >= S.ERA:
        a += words[0] - S.ERA
    if found["first"] or words[0] >= S.ERA or n_a == 4 or year_sign:
        known = a >= 0 and n_c <= 2
    else:
        known = n_a <= 2 and n_c in {2, 4} and words[0] == 0
    half = max(words[1:])
    if not known or min(words) < 0 or half >= S.ERA or m > 59 or s > 59:
        return None
    if half and half <= S.NIGHT and h <= 12:
        afternoon = half == S.PM or (half == S.NOON and h not in {10, 11}) or (half == S.NIGHT and 5 < h < 12)
        h = h % 12 + 12 * afternoon
    if h > 23 or (found.re is _TIME_FIRST and _plain(found["w2"], H)):
        return None
    return found.end(), (a, b, c), h * 3_600 + m * 60 + s


def _plain(word: str, headers) -> str:
    return "".join(c.lower() if c.isascii() else c for c in word.translate(headers.SKIPPED))


# --- languages of messages (chat/language_kernel.py) ------------------------------------------------------------------


def language_points(text: str, table: dict[str, dict[str, list[int]]], labels: tuple[str, ...]) -> list[int]:
    """The points of every label: those of each listed word, else at most 8 of all the pieces it has."""
    total = Counter()
    for chunk in re.split(r"[ \n\t\u00a0]", text):
        heard = re.split(r"[@#/]", chunk)[0]
        plain = heard.replace("\u0640", "").lower().translate({0x660 + i: 48 + i for i in range(10)})
        for word in re.findall(r"[^\W_]+['\u2019]?", plain):
            if not any(classes()[ord(c)] & ALPHA for c in word):
                continue
            word = word.replace("\u2019", "'")  # noqa: PLW2901
            total.update(_listed(word, table) or _pieces(word, table))
    return [total[label] for label in labels]


def _listed(word: str, table: dict[str, dict[str, list[int]]]) -> Counter | None:
    found = table.get(f"^{word}$")
    return None if found is None else Counter({label: max(points) for label, points in found.items()} | {"": 1})


def _pieces(word: str, table: dict[str, dict[str, list[int]]]) -> Counter:
    n = len(word)
    found = [word[i : i + k] for k in range(1, 5) for i in range(n - k + 1)]
    found += ["^" + word[:k] for k in range(2, 5) if k < n] + [word[n - k :] + "$" for k in range(1, 5) if k < n]
    points = Counter()
    for piece in found:
        points.update({label: max(some) for label, some in table.get(piece, {}).items()})
    return Counter({label: min(8, k) for label, k in points.items()})


# --- Arabizi in one spelling (chat/arabic.py) -------------------------------------------------------------------------


def arabizi(text: str, switches: set[str]) -> str:
    """The rules of `NormalizeArabizi` as regular expressions, one after the other."""
    rules = {
        "digits": [("5", "kh"), ("9", "q"), ("6", "t"), ("4", "gh")], "heh": [("7", "h")],
        "sheen": [("c(?=[hH])", "s"), ("C(?=[hH])", "S"), ("x", "sh"), ("X", "Sh")],
        "repeats": [(r"(?i)([a-z])\1{2,}", r"\1")], "doubles": [(r"(?i)([a-z])\1+", r"\1")],
        "vowels": [("(?<=[oO])[uU]", ""), ("[ow]", "u"), ("[OW]", "U"), ("y", "i"), ("Y", "I"), ("[eE]", "")],
    }  # fmt: skip

    def spelled(m: re.Match) -> str:
        word = m[0]
        is_number = word.isdigit() or (word[0].isdigit() and word[1:].lower() in UNITS)
        if not word.isascii() or re.search(r"\d\d", word) or is_number:
            return word
        for name, rule in rules.items():
            for pattern, new in rule if name in switches else ():
                word = re.sub(pattern, new, word)
        return word

    return re.sub(r"[^\W_]+", spelled, text)


# --- chat statistics ---


def message_stats(rows, gap):
    """Counts and values of `MessageStats`, message by message; rows: (chat, author, time, kind, text, language)."""
    counts, values, talks = Counter(), {name: [] for name in ("talk", "seconds", "reply", "chars")}, {}

    def close(talk):
        values["talk"].append(talk["n"])
        values["seconds"].append(abs(int((talk["last"] - talk["first"]).total_seconds())))

    for chat, author, time, kind, text, language in rows:
        counts[f"kind.{kind}"] += 1
        if author is None or kind == "system":
            continue
        counts[f"author.{author}"] += 1
        counts[f"chat.{chat}"] += chat is not None
        if kind == "text":
            counts[f"language.{language}"] += language is not None
            values["chars"].append(len(text))
        if time is None:
            continue
        counts[f"clock.{time.isoweekday()}.{time:%H}"] += 1
        counts[f"month.{time:%Y-%m}"] += 1
        if chat is None:
            continue
        talk = talks.get(chat)
        waited = None if talk is None else abs(time - talk["last"])
        if talk is None or waited >= gap:
            if talk is not None:
                close(talk)
            talks[chat] = talk = {"first": time, "n": 0}
        elif author != talk["author"]:
            values["reply"].append(int(waited.total_seconds()))
        talk |= {"n": talk["n"] + 1, "last": time, "author": author}
    for talk in talks.values():
        close(talk)
    return +counts, values
