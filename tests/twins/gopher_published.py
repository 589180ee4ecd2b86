"""Twin of `filters/gopher/published.py`: the rules of Gopher as datatrove, Dolma and DCLM count them."""

from __future__ import annotations

import re
import statistics
from collections import Counter

from dataprep.filters.fineweb import CODE_MARKS
from dataprep.unicode.shingles import FINEWEB_MARKS
from twins.gopher import share
from twins.unicode import lower, points
from twins.words import segments, tokens

SYMBOLS = {*CODE_MARKS, *FINEWEB_MARKS, *map(chr, [*range(32), *range(127, 160)])}


def datatrove(text: str, rule, stop_words) -> dict[str, float]:
    """Words of the tokenizer; shares of all characters; later repeats; n-grams that overlap are skipped."""
    words, lines = tokens(text), text.splitlines()
    real = [w for w in words if any(c not in SYMBOLS for c in w)]
    out = {
        "words": len(real),
        "mean_word_chars": share(sum(map(len, real)), len(real)),
        "hashes": share(text.count("#"), len(words)),
        "ellipses": share(text.count("...") + text.count("…"), len(words)),
        **line_shares([x.strip() for x in lines], rule.bullets, ("...", "…")),
        "alphabetic": share(sum(map(has_letter, words)), len(words)),
        "stop_words": max((len(set(words) & set(some)) for some in stop_words), default=0),
    }
    for name, parts in (("line", re.split("\n+", text)), ("paragraph", re.split("\n{2,}", text.strip()))):
        late = [p for k, p in enumerate(parts) if p in parts[:k]]
        out |= {f"dup_{name}s": len(late) / len(parts)}
        out |= {f"dup_{name}_chars": share(sum(map(len, late)), len(text))}
    for n in range(2, 11):
        grams = [tuple(words[k : k + n]) for k in range(len(words) - n + 1)]
        if n < 5:
            gram, times = max(Counter(grams).items(), key=lambda item: item[1], default=((), 0))
            out[f"top_{n}gram"] = share(times * len(" ".join(gram)), len(text))
            continue
        seen, chars, k = set(), 0, 0
        while k < len(grams):
            again = grams[k] in seen
            chars += sum(map(len, grams[k])) * again
            seen.add(grams[k])
            k += n if again else 1
        out[f"dup_{n}gram"] = share(chars, len(text))
    return out


def dolma(text: str, rule, stop_words) -> dict[str, float]:
    """Words between white space and their median; every copy counts, blank lines too, and each n-gram for itself."""
    words, lines = text.split(), text.split("\n")
    chars = sum(map(len, words))
    copies = [x for x in lines if lines.count(x) > 1]
    out = {
        "words": len(words),
        "mean_word_chars": statistics.median([len(w) for w in words]) if words else 0,
        "hashes": share(sum("#" in w or "…" in w for w in words), len(words)),
        "ellipses": 0,
        **line_shares(lines, rule.bullets, ("…",)),
        "alphabetic": share(sum(map(has_letter, words)), len(words)),
        "stop_words": max((sum(w in some for w in words) for some in stop_words), default=0),
        "dup_lines": len(copies) / len(lines),
        "dup_paragraphs": 0,
        "dup_line_chars": share(sum(map(len, copies)), chars),
        "dup_paragraph_chars": 0,
    }
    for n in range(2, 11):
        grams = Counter(tuple(words[k : k + n]) for k in range(len(words) - n + 1))
        sizes = {gram: times * sum(map(len, gram)) for gram, times in grams.items()}
        if n < 5:
            out[f"top_{n}gram"] = share(sizes[grams.most_common(1)[0][0]] if grams else 0, chars)
        else:
            out[f"dup_{n}gram"] = share(sum(s for g, s in sizes.items() if grams[g] > 1), sum(sizes.values()))
    return out


def dclm(text: str, rule, stop_words) -> dict[str, float]:
    """Words between white space; n-grams of Unicode words; every copy counts; lines stripped, without blank ones."""
    words, lines = text.split(), [x.strip() for x in text.split("\n") if x.strip()]
    folded = [lower_each(w) for w in words]
    counted = [w for w in re.split("[ \t\n\v\f\r]+", text) if w and w[0] in points("ALPHA") | points("NUMERIC")]
    dots = sum(text.count(s) for s in ("#", "...", ". . .", "…"))
    out = {
        "words": len(counted),
        "mean_word_chars": share(sum(map(len, words)), len(words)),
        "hashes": share(dots, len(words)),
        "ellipses": 0,
        **line_shares(lines, rule.bullets, ("...", ". . .", "…")),
        "alphabetic": share(sum(map(has_letter, words)), len(words)),
        "stop_words": max((sum(w in {*map(lower_each, some)} for w in folded) for some in stop_words), default=0),
    }
    for name, parts in (("line", lines), ("paragraph", [x.strip() for x in text.split("\n\n") if x.strip()])):
        copies = [p for p in parts if parts.count(p) > 1]
        out |= {f"dup_{name}s": share(len(copies), len(parts))}
        out |= {f"dup_{name}_chars": share(sum(map(len, copies)), sum(map(len, parts)))}
    found = [w for w in segments(text, tailored=False) if w[0] in points("ALPHA") | points("NUMERIC")]
    chars = sum(map(len, found))
    for n in range(2, 11):
        grams = [tuple(found[k : k + n]) for k in range(len(found) - n + 1)]
        times = Counter(grams)
        most = max(times.values(), default=0)
        if n < 5:
            longest = max((sum(map(len, g)) for g, k in times.items() if k == most), default=0)
            out[f"top_{n}gram"] = share(longest * most if most > 1 else 0, chars)
        else:
            covered = {k + i for k, g in enumerate(grams) if times[g] > 1 for i in range(n)}
            out[f"dup_{n}gram"] = share(sum(len(found[k]) for k in covered), chars)
    return out


def has_letter(word: str) -> bool:
    """Whether a word has a letter."""
    return any(c in points("ALPHA") for c in word)


def lower_each(word: str) -> str:
    """A word in lower case, one character for one."""
    return "".join(lower(c)[0] for c in word)


def line_shares(lines: list[str], bullets: tuple[str, ...], endings: tuple[str, ...]) -> dict[str, float]:
    """The shares of lines that begin with a bullet, and of those that end with an ellipsis."""
    return {
        "bullet_lines": share(sum(x.startswith(bullets) for x in lines), len(lines)),
        "ellipsis_lines": share(sum(x.endswith(endings) for x in lines), len(lines)),
    }
