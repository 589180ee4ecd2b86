"""Twin of `filters/fineweb2.py`: the three filters of FineWeb-2's pipeline, one after the other."""

from __future__ import annotations

import twins.fineweb
import twins.gopher_published
from dataprep.filters.fineweb import CODE_MARKS


class Settings:
    """What the twins of Gopher and FineWeb read."""

    bullets = ("•", "-")
    terminal_punctuation = CODE_MARKS
    short_line_chars = 30
    words = "punctuation"


def drops(text: str, config: dict, *, max_words: int = 100_000) -> dict[str, bool]:
    """Whether each rule drops a text, in the order of the pipeline; config: a published file, as YAML reads it."""
    gopher = twins.gopher_published.datatrove(text, Settings, (tuple(config["stopwords"]),))
    lines = {k.removeprefix("fineweb_"): v for k, v in twins.fineweb.code(text, Settings).items()}
    return {
        "duplicate_lines": bool(config["dup_line_frac"]) and gopher["dup_lines"] > config["dup_line_frac"],
        **{f"top_{n}gram": gopher[f"top_{n}gram"] > share for n, share in config["top_n_grams"]},
        **{f"duplicate_{n}gram": gopher[f"dup_{n}gram"] > share for n, share in config["dup_n_grams"]},
        "few_punctuated_lines": lines["punctuated_lines"] < config["line_punct_thr"],
        "duplicate_line_chars": lines["dup_line_chars"] > 0.1,
        "line_breaks": lines["breaks"] > config["new_line_ratio"],
        "too_few_words": gopher["words"] < 50,
        "too_many_words": gopher["words"] > max_words,
        "short_words": gopher["mean_word_chars"] < config["min_avg_word_length"],
        "long_words": gopher["mean_word_chars"] > config["max_avg_word_length"],
        "hashes": gopher["hashes"] > 0.1,
        "ellipses": gopher["ellipses"] > 0.1,
        "bullet_lines": gopher["bullet_lines"] > 0.9,
        "ellipsis_lines": gopher["ellipsis_lines"] > 0.3,
        "not_alphabetic": gopher["alphabetic"] < config["max_non_alpha_words_ratio"],
        "few_stop_words": gopher["stop_words"] < 2,
    }
