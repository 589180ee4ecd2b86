"""Decisions of published code for `conformance.py`, as JSON; imports only the standard library and one peer.

    ENV/bin/python benchmarks/peer_rules.py DOCS.json datatrove|dolma|dclm
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import types
from pathlib import Path

CODES = {"en": "eng_Latn", "fr": "fra_Latn", "ar": "arb_Arab"}
DCLM_STEPS = (
    ("page_length_filter", {"length_type": "word", "min_length": 50, "max_length": 100_000, "ignore_punctuation": 1}),
    ("word_length_filter", {"min_length": 3, "max_length": 10}),
    ("symbol_ratio_filter", {"max_symbol_to_word_ratio": 0.1}),
    ("bullet_count_filter", {"max_bullet_start_ratio": 0.9}),
    ("ellipsis_count_filter", {"max_ellipsis_end_ratio": 0.3}),
    ("alphabetic_word_ratio_filter", {"max_ratio": 0.2}),
    ("stop_word_filter", {"count_unique": False, "min_stop_word": 2}),
    ("massive_web_repetition_filters", {}),
)  # fmt: skip
DOLMA = {
    "word_count": "words", "median_word_length": "mean_word_chars", "symbol_to_word_ratio": "hashes",
    "fraction_of_words_with_alpha_character": "alphabetic", "required_word_count": "stop_words",
    "fraction_of_lines_starting_with_bullet_point": "bullet_lines", "fraction_of_duplicate_lines": "dup_lines",
    "fraction_of_lines_ending_with_ellipsis": "ellipsis_lines",
    "fraction_of_characters_in_duplicate_lines": "dup_line_chars",
}  # fmt: skip


def peer_datatrove(docs: list[dict]) -> dict[str, list]:
    """Decisions of datatrove: with its own words, and (`... words`) with those of `word_split="punctuation"`."""
    from datatrove.data import Document
    from datatrove.pipeline import filters as F

    modules = [importlib.import_module(f"datatrove.pipeline.filters.{name}_filter") for name in
               ("gopher_quality", "gopher_repetition", "fineweb_quality")]  # fmt: skip
    own, found = functools.lru_cache(4)(modules[0].split_into_words), {}
    c4 = {lang: F.C4QualityFilter(language=code) for lang, code in CODES.items()}

    def decide(doc, rules):
        if not doc["text"].strip():
            return "empty"
        page = Document(text=doc["text"], id="")
        return next((why[1] for rule in rules if (why := rule.filter(page)) is not True), None)

    def rules_of(doc):
        code, stop = CODES[doc["lang"]], doc["stop_words"]
        yield "gopher", [F.GopherQualityFilter(language=code, stop_words=stop), F.GopherRepetitionFilter(language=code)]
        yield "fineweb", [F.FineWebQualityFilter(language=code)]
        if doc["fineweb2"]:
            p = doc["fineweb2"]
            own_words = {"language": p["language"]}
            off = {"dup_para_frac": 0, "dup_line_char_frac": 0, "dup_para_char_frac": 0}
            yield "fineweb2", [
                F.GopherRepetitionFilter(**p["repetition"], **off, **own_words),
                F.FineWebQualityFilter(**p["lines"], short_line_thr=999, char_duplicates_ratio=0.1, **own_words),
                F.GopherQualityFilter(**p["quality"], min_stop_words=2, **own_words),
            ]

    for doc in docs:
        for suffix, split in (("", own), (" words", lambda _text, _language, doc=doc: doc["words"])):
            for module in modules:
                module.split_into_words = split
            for name, rules in rules_of(doc):
                found.setdefault(name + suffix, []).append(decide(doc, rules))
        page = Document(text=doc["text"], id="")
        answer = c4[doc["lang"]].filter(page)
        found.setdefault("c4", []).append([page.text] if answer is True else answer[1])
        found.setdefault("mc4", []).append(decide(doc, [F.C4ParagraphFilter()]))
    return found


def peer_dolma(docs: list[dict]) -> dict[str, list]:
    """The scores of Dolma's tagger."""
    from dolma.taggers.gopher import get_attributes

    def scores(text):
        a = get_attributes(text)
        made = {f"gopher_{ours}": getattr(a, theirs) for theirs, ours in DOLMA.items()}
        made |= {f"gopher_top_{n}gram": v for n, v in a.fraction_of_characters_in_most_common_ngram}
        return made | {f"gopher_dup_{n}gram": v for n, v in a.fraction_of_characters_in_duplicate_ngrams}

    return {"dolma": [scores(doc["text"]) for doc in docs]}


def peer_dclm(docs: list[dict]) -> dict[str, list]:
    """Decisions and texts of DCLM's filters; only the modules of its rules are imported."""
    root = Path(os.environ["DCLM"]) / "baselines"
    folders = {"baselines": "", "core": "core", "baselines.core": "core", "baselines.mappers": "mappers",
               "baselines.mappers.filters": "mappers/filters"}  # fmt: skip
    for name, folder in folders.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(root / folder)]
    sys.modules["transformers"] = types.ModuleType("transformers")  # of a rule that is not used
    sys.modules["transformers"].AutoTokenizer = None
    content = importlib.import_module("baselines.mappers.filters.content_filters")
    modifiers = importlib.import_module("baselines.mappers.modifiers")
    phrases = {"max_length": 10, "remove_substring_only": True}
    lines = [
        ("upper_case", lambda p: modifiers.uppercase_ratio_line_modifier(p, max_ratio=0.5)),
        ("numbers", lambda p: modifiers.numeric_ratio_line_modifier(p, max_ratio=0.999999)),
        ("counter", modifiers.counter_line_modifier()),
        ("few_words", lambda p: modifiers.line_length_modifier(p, min_length=2)),
        ("anywhere", modifiers.substring_line_modifier("items in cart", **phrases)),
        ("suffixes", modifiers.substring_line_modifier("Read more...", location="suffix", **phrases)),
        ("prefixes", modifiers.substring_line_modifier("Sign-in", location="prefix", **phrases)),
        ("removed_words", lambda p: content.word_removal_ratio_filter(p, "before", max_removed_ratio=0.05)),
    ]
    found = {"gopher": [], "refinedweb": []}
    for doc in docs:
        page = {"text": doc["text"]}
        steps = ((name, getattr(content, name)(page, **given)) for name, given in DCLM_STEPS)
        found["gopher"].append(next((name for name, left in steps if not left), None))
        page["before"] = len(content.split_words(page["text"], ignore_punctuation=True))
        dropped = next((name for name, step in lines if not step(page)), None)
        found["refinedweb"].append(dropped or [page["text"]])
    return {f"dclm {name}": answers for name, answers in found.items()}


def run_peer(file: str, peer: str) -> None:
    """Print the answers of a peer as JSON; nothing if it cannot be imported."""
    docs = json.loads(Path(file).read_text(encoding="utf-8"))
    try:
        print("ANSWERS", json.dumps(globals()[f"peer_{peer}"](docs)))
    except (ImportError, KeyError) as e:
        print(f"{peer} is not here: {e!r}", file=sys.stderr)


if __name__ == "__main__":
    run_peer(*sys.argv[1:])
