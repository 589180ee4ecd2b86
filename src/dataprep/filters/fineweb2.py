"""FineWeb2: the rules of FineWeb-2, with the thresholds and stop words of each language.

These are rules of Gopher and FineWeb, with datatrove's definitions of the counts. Slow reference for the tests:
tests/twins/fineweb2.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, ClassVar

import pyarrow as pa

from dataprep.core.model import batch as B
from dataprep.core.model.batch import Batch
from dataprep.core.model.score import ScoredFilter
from dataprep.errors import PlanError, need
from dataprep.store import files
from dataprep.unicode.language_tags import known_as, parse_tag

from .fineweb import BEYOND, FineWeb
from .gopher.published_scores import published_scores
from .gopher.stage import PRESETS as GOPHER
from .gopher.stage import RULES as GOPHER_RULES
from .thresholds import PRESET, check_numbers, compared, read_list, reasons, tuple_of_words
from .word_lists import STOP_WORDS

# In the order of the published pipeline: repetition, FineWeb's lines, Gopher's quality.
_REPETITION = ("max_dup_lines", *(f"max_top_{n}gram" for n in (2, 3, 4)), *(f"max_dup_{n}gram" for n in range(5, 11)))
_LINES = ("min_punctuated_lines", "max_dup_line_chars", "max_newline_ratio")
_QUALITY = (
    "min_words", "max_words", "min_mean_word_chars", "max_mean_word_chars", "max_hash_signs", "max_ellipses",
    "max_bullet_lines", "max_ellipsis_lines", "min_alphabetic", "min_stop_words",
)  # fmt: skip
_RULES = {rule.parameter: rule for rule in GOPHER_RULES} | {rule.parameter: rule for rule in BEYOND}
_OWN = tuple(_RULES[name] for name in (*_REPETITION, *_LINES, *_QUALITY))
RULES = tuple(rule._replace(score=f"fineweb2_{rule.score.split('_', 1)[1]}") for rule in _OWN)
# The settings of a published file that are numbers; those of n-grams are named `top_N` and `dup_N` here.
NUMBERS = (
    "language_score", "min_avg_word_length", "max_avg_word_length", "max_non_alpha_words_ratio", "line_punct_thr",
    "new_line_ratio", "dup_line_frac", *(f"top_{n}" for n in (2, 3, 4)), *(f"dup_{n}" for n in range(5, 11)),
)  # fmt: skip
THOUSANDTHS = frozenset(NUMBERS) - {"min_avg_word_length", "max_avg_word_length"}  # in fineweb2.txt
# Settings of a published file, and the parameters that they set.
SETTINGS = {
    "dup_line_frac": "max_dup_lines", "line_punct_thr": "min_punctuated_lines", "new_line_ratio": "max_newline_ratio",
    "min_avg_word_length": "min_mean_word_chars", "max_avg_word_length": "max_mean_word_chars",
    "max_non_alpha_words_ratio": "min_alphabetic",
    **{f"top_{n}": f"max_top_{n}gram" for n in (2, 3, 4)}, **{f"dup_{n}": f"max_dup_{n}gram" for n in range(5, 11)},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FineWeb2(ScoredFilter):
    """Drop documents by the rules of FineWeb-2, with its thresholds for a language (Penedo et al. 2025).

    >>> FineWeb2(language="ary_Arab")                                               # Darija in Arabic script
    >>> FineWeb2(language="swh_Latn", configs="fineweb-2/configs")                  # with the published stop words
    >>> FineWeb2(language="swh_Latn", configs="fineweb-2/configs", min_words=20)    # one value overridden

    Args:
        language: the code of language and script, as in FineWeb-2; `ary-Arab` means `ary_Arab`, and `fr_Latn` means
            `fra_Latn`.
        configs: the folder `configs` of a clone of the repository huggingface/fineweb-2, which has a file of thresholds
            and stop words for each of 1,929 languages. Reading it needs the extra `hf`. None: the thresholds of the
            same languages that come with dataprep, and the stop words of `Gopher` for ar, ary, ary-Latn, de, en, es and
            fr. For other languages, pass `stop_words`, or switch this rule off with min_stop_words=None.

    The rules are those of `Gopher(preset="datatrove")` and `FineWeb(preset="code")`, in the order of the published
    pipeline; docs/filters.md states what each rule counts:

    | parameter | value | reason |
    |---|---|---|
    | max_dup_lines | of the language | duplicate_lines |
    | max_top_2gram ... 4gram, max_dup_5gram ... 10gram | of the language | top_2gram ..., duplicate_5gram ... |
    | min_punctuated_lines, max_newline_ratio | of the language | few_terminal_punctuation, line_breaks |
    | max_dup_line_chars | 0.1 | duplicate_line_chars |
    | min_words, max_words | 50, 100,000 | too_few_words, too_many_words |
    | min_mean_word_chars, max_mean_word_chars | of the language | short_words, long_words |
    | max_hash_signs, max_ellipses | 0.1 | hashes, ellipses |
    | max_bullet_lines, max_ellipsis_lines | 0.9, 0.3 | bullet_lines, ellipsis_lines |
    | min_alphabetic | of the language | not_alphabetic |
    | min_stop_words, stop_words | 2 distinct stop words of the language | few_stop_words |

    None switches a rule off; so does a published value of 0, or a published share of lines below 0. Stop words that
    contain white space are ignored. The published code splits words with a tokenizer for each language; this filter
    uses `word_split="punctuation"`, which does not separate Chinese, Thai or Khmer words. The property `language_score`
    is the GlotLID score that FineWeb-2 required; this filter does not apply it. The FineWeb-2 pipeline removes
    near-duplicates before these rules. After them, it repairs texts and masks personal data.

    Raises PlanError for an unknown language, an unreadable file, or a threshold below 0.
    """

    compiled: ClassVar[bool] = True

    language: str
    configs: str | None = field(default=None, repr=False)
    max_dup_lines: float | None = PRESET
    max_top_2gram: float | None = PRESET
    max_top_3gram: float | None = PRESET
    max_top_4gram: float | None = PRESET
    max_dup_5gram: float | None = PRESET
    max_dup_6gram: float | None = PRESET
    max_dup_7gram: float | None = PRESET
    max_dup_8gram: float | None = PRESET
    max_dup_9gram: float | None = PRESET
    max_dup_10gram: float | None = PRESET
    min_punctuated_lines: float | None = PRESET
    max_dup_line_chars: float | None = 0.1
    max_newline_ratio: float | None = PRESET
    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word_chars: float | None = PRESET
    max_mean_word_chars: float | None = PRESET
    max_hash_signs: float | None = 0.1
    max_ellipses: float | None = 0.1
    max_bullet_lines: float | None = 0.9
    max_ellipsis_lines: float | None = 0.3
    min_alphabetic: float | None = PRESET
    min_stop_words: int | None = 2
    stop_words: tuple[str, ...] = PRESET
    language_score: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.configs is None:
            needs_words = self.stop_words == PRESET and self.min_stop_words is not None
            published = _included(self.language, needs_words=needs_words)
        else:
            object.__setattr__(self, "configs", str(self.configs))
            published = _read(_file_of(self.language, str(self.configs)), str(self.configs))
        object.__setattr__(self, "language_score", published["language_score"])
        values = {SETTINGS[name]: max(published[name], 0) or None for name in SETTINGS}
        for name, value in (values | {"stop_words": published["stop_words"]}).items():
            if getattr(self, name) == PRESET:
                object.__setattr__(self, name, value)
        check_numbers(self, (rule.parameter for rule in RULES))
        tuple_of_words(self, "stop_words")

    @property
    def scores(self) -> Mapping[str, pa.DataType]:
        """Names and types of the columns that the filter adds: int64 for counts of words, else float64."""
        counted = ("fineweb2_words", "fineweb2_stop_words")
        return {rule.score: pa.int64() if rule.score in counted else pa.float64() for rule in RULES}

    @property
    def measure(self) -> Any:
        """The value that determines the scores: the stop words."""
        return self.stop_words

    def recipe(self) -> Any:
        """Return the values that identify this stage, whether they come from the published file or not."""
        return self.measure, [getattr(self, rule.parameter) for rule in RULES]

    def score(self, batch: Batch) -> Mapping[str, pa.Array]:
        """Return a column for each score that the rules use, by name, with a value per text."""
        bullets = GOPHER["datatrove"]["bullets"]
        found = published_scores(*B.buffers(batch), "datatrove", bullets, (self.stop_words,))
        found |= FineWeb(preset="code").score(batch)
        return {rule.score: found[own.score] for rule, own in zip(RULES, _OWN, strict=True)}

    def decide(self, scores: Mapping[str, pa.Array]) -> pa.StringArray:
        """Return the reason of the first rule of the table that drops each document; null if no rule does.

        Args:
            scores: the columns of `score`.
        """
        return reasons(self, RULES, scores)

    def compared(self, scores: Mapping[str, pa.Array], reasons: pa.StringArray) -> Mapping[str, pa.Array]:
        """Return the score that the rule of each reason compared, as the column `value`."""
        return compared(RULES, scores, reasons)


def numbers_of(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers (NUMBERS) of a published file, given its parsed YAML."""
    grams = {f"{kind}_{n}": share for kind in ("top", "dup") for n, share in settings[f"{kind}_n_grams"]}
    values = dict(settings) | grams
    return {name: 0 + values[name] for name in NUMBERS}


@cache
def _table() -> dict[str, str]:
    """Return the line of each language in fineweb2.txt, which scripts/make_fineweb2.py writes."""
    lines = resources.files(__package__).joinpath("fineweb2.txt").read_text("utf-8").splitlines()[1:]
    return {line.partition(" ")[0]: line for line in lines}


def _included(language: str, *, needs_words: bool) -> dict[str, Any]:
    """Return the numbers (NUMBERS) and `stop_words` of a language, from the table that comes with dataprep.

    - needs_words: whether it is an error if there are no stop words of the language.
    """
    found = _table().get(known_as(language, _table()) if isinstance(language, str) else "")
    if found is None:
        near = difflib.get_close_matches(str(language), _table(), 3, 0.5)
        which = f"such as {' or '.join(map(repr, near or ['ary_Arab']))}"
        msg = f"FineWeb2: language={language!r} must be one of {len(_table())} codes of FineWeb-2, {which}"
        raise PlanError(msg)
    words = STOP_WORDS.get(known_as(language, STOP_WORDS))
    if words is None and needs_words:
        msg = (
            f"FineWeb2: dataprep has no stop words for {language!r}; pass stop_words=, or the published ones with "
            "configs= (a copy of fineweb-2/configs), or min_stop_words=None"
        )
        raise PlanError(msg)
    values = map(int, found.split()[1:])
    numbers: dict[str, Any] = {
        n: v / 1000 if n in THOUSANDTHS else v for n, v in zip(NUMBERS, values, strict=True)
    }
    return numbers | {"stop_words": tuple(words or ())}


def _file_of(language: str, configs: str) -> str:
    """Return the spelling of a language tag that names a file in the folder `configs`; if none does, the tag itself."""
    tag = parse_tag(language)
    names = (language, *(tag.spellings if tag else ()), *(tag._replace(region="").spellings if tag else ()))
    return next((name for name in names if files.exists(files.join(configs, f"{name}.yml"))), language)


def _read(language: str, configs: str) -> dict[str, Any]:
    """Return the numbers (NUMBERS) and `stop_words` of a language, from its file in the folder `configs`."""
    url = files.join(configs, f"{language}.yml")
    if not files.exists(url):
        known = [files.name_of(found).removesuffix(".yml") for found in files.expand(configs) if found.endswith(".yml")]
        near = difflib.get_close_matches(str(language), known, 3, 0.5) or known[:3]
        which = f"one of {len(known)} codes such as {' or '.join(map(repr, near))}" if near else "a .yml file's name"
        msg = f"FineWeb2: language={language!r} must be {which} in configs={configs!r}, a copy of fineweb-2/configs"
        raise PlanError(msg)
    yaml, text = need("yaml", extra="hf"), read_list("FineWeb2", url)
    try:
        made = yaml.safe_load(text)
        words = tuple(dict.fromkeys(word for word in made["stopwords"] if not set(word) & set(" \t\n")))
        return numbers_of(made) | {"stop_words": words}
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as e:
        problem = f"it lacks {e}" if isinstance(e, KeyError) else f"parsing it raised {type(e).__name__}"
        msg = f"FineWeb2: {url} must be a config file of huggingface/fineweb-2, but {problem}; copy it again"
        raise PlanError(msg) from e
