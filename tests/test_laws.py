"""The laws, over every stage there is, on hypothesis-made and on real batches."""

import datetime as dt
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dataprep as dp
import laws
from dataprep.core.model.estimator import Estimator
from dataprep.dedup.semantic import SemDeDup
from dataprep.filters.badwords import BadWords
from dataprep.filters.classifiers.language import Language
from dataprep.filters.decontaminate.stage import Decontaminate
from dataprep.filters.fineweb import FineWeb
from dataprep.filters.gopher.stage import Gopher
from dataprep.filters.hosts import Hosts
from dataprep.filters.refinedweb.stage import RefinedWeb
from dataprep.filters.repair import RepairText
from dataprep.messages.arabic import NormalizeArabic
from dataprep.messages.arabizi import NormalizeArabizi
from dataprep.messages.clean import CleanMessages
from dataprep.messages.language.stage import MessageLanguage
from dataprep.messages.names.stage import Consent, Pseudonyms
from dataprep.messages.overlaps import Overlaps
from dataprep.messages.statistics import MessageStats
from dataprep.pii.stage import PII
from dataprep.store.key import key

PAGE = (
    "The garden behind the library was open to everyone who lived in the street.\n"
    "Terms of use apply here to all readers of the page.\nHome About Contact\n"
    "In spring the neighbours met there to plant beans, and in autumn they shared the harvest.\n"
    "Nobody remembered who had built the low wall that kept the goats out.\nPlease enable javascript now."
)


def no_vowels(text):
    return "no_vowels" if text and not set(text.lower()) & set("aeiouy") else None


def squeeze(text):
    return " ".join(text.split())


def size(text):
    return {"size": len(text)}


def letters(texts):
    """How often each of 26 letters stands in a text: vectors for SemDeDup."""
    return np.array([[text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts])


def message(draw_text, minute):
    """A chat message with the columns that readers of chats give, and a URL."""
    fields = {"chat": f"c{minute // 600}", "author": "abc"[minute % 3], "url": f"https://{minute % 5}.org/{minute % 7}"}
    return {"text": draw_text, "time": _time(minute), "kind": "text", **fields}


def _time(minute):
    return dt.datetime(2024, 5, 1) + dt.timedelta(minutes=minute)


LANGID = find_spec("py3langid") is not None
STAGES = [
    dp.C4(),
    dp.C4(preset="paper"),
    Gopher(),
    FineWeb(),
    RefinedWeb(),
    dp.Split(val=0.3, test=0.2, group="chat"),
    BadWords(("goats", "javascript now")),
    Decontaminate(sets={"one": [PAGE, "the quick brown"], "two": ["jumps over a lazy dog"]}, ngram=5, min_words=3),
    PII(),
    PII(action="drop"),
    *([RepairText()] if find_spec("ftfy") else []),
    Hosts(("1.org", "3.org/5"), banned_words=("rg/6",)),
    *([Language("en", unit="line", mixed=0.5), Language("fr")] if LANGID else []),
    dp.Filter(no_vowels),
    dp.Map(squeeze),
    dp.Map(size, adds={"size": pa.int64()}),
    dp.chats.Conversations(gap="10m"),
    CleanMessages(),
    CleanMessages(links=None, phones="<phone>", emoji="drop"),
    MessageLanguage(),
    MessageLanguage(context=False),
    MessageStats(gap="15m", top=2),
    NormalizeArabic(tatweel=True, diacritics=True, alef=True, yeh=True, ta_marbuta=True),
    NormalizeArabizi(digits=True, heh=True, sheen=True, doubles=True, vowels=True, language=None),
]
ESTIMATORS = [
    dp.Exact(),
    dp.Exact(normalize="lower", keep="longest"),
    *(dp.Exact(unit=unit) for unit in ("line", "paragraph", "span3")),
    dp.MinHash(),
    dp.MinHash(shingle="char", threshold=0.6, keep="longest"),
    *(dp.Bloom(unit=unit, ngram=4) for unit in ("document", "paragraph", "ngram")),
    dp.URLDedup(),
    dp.SuffixArray(min_words=5),
    dp.SuffixArray(min_bytes=20, cut="word"),
    SemDeDup(epsilon=0.2, embed=letters),
    dp.MinHash(preset="dialect", measure="containment"),
    Overlaps(),
    Pseudonyms(key=b"0123456789abcdef", consent=Consent(refused=("the lazy",), strict=False)),
    Consent(refused=("zzyzx",), strict=False),
    Consent(allowed=("dog", "quick fox"), strict=False),
]
PLAIN = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]
words = st.lists(st.sampled_from([*PLAIN, ".", "!", "٣", "wach", "nta", "été", "{", "javascript"]))
texts = st.one_of(st.text(max_size=40), words.map(" ".join), st.just(PAGE), words.map(lambda w: PAGE + " ".join(w)))
rows = st.lists(texts, max_size=25)
few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def batch_for(stage, made):
    """The rows as the stage needs them."""
    if not stage.needs:
        return laws.batch_of(made)
    minutes, at = [], 0
    for text in made:
        at += len(text) % 17
        minutes.append(at)
    messages = [message(text, minute) for text, minute in zip(made, minutes, strict=True)]
    batch = laws.batch_of(messages or [message("", 0)]).slice(0, len(made))
    return batch.set_column(batch.schema.get_field_index("time"), "time", batch.column("time").cast(pa.timestamp("s")))


@pytest.mark.parametrize("stage", STAGES, ids=repr)
@few
@given(made=rows, sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_stages_keep_the_laws(stage, made, sizes):
    """Cuts do not matter and the books balance, whatever the text."""
    batch = batch_for(stage, made)
    laws.cuts_do_not_matter(stage, batch, sizes)
    laws.books_balance(stage, batch)


@pytest.mark.parametrize("stage", [*STAGES, *ESTIMATORS], ids=repr)
def test_stages_travel(stage):
    """Pickle, cloudpickle and print keep what a stage is; the key knows every parameter."""
    laws.key_and_pickle_are_stable(stage)


def test_keys_know_parameters():
    """No two of the stages above have one key, and neither have neighbours in one parameter."""
    neighbours = [dp.MinHash(threshold=0.81), dp.MinHash(ngram=6), dp.Exact(keep="longest"), dp.C4(min_sentences=4)]
    everything = [*STAGES, *ESTIMATORS, *neighbours]
    assert len({key(s) for s in everything}) == len(everything)


def run(stage, folder, made, out, **how):
    runner = how.pop("runner", None)
    if "author" in stage.needs:  # people whose names stand in the texts
        who = ("quick fox", "the lazy", "dog")
        said = {"chat": lambda n: f"c{n % 2}", "author": lambda n: who[n % 3], "kind": lambda n: "text"}
        said["time"] = lambda n: f"2024-05-01T10:{n % 7:02}:00"
        made = [{"text": t} | {name: said[name](len(t)) for name in stage.needs} for t in made]
    elif stage.needs:  # a few pages, captured often
        captures = [(f"http://e.org/{len(t) % 5}", f"20{10 + len(t) % 7}-01-01") for t in made]
        made = [{"text": t, "url": url, "date": date} for t, (url, date) in zip(made, captures, strict=True)]
    how["strings"] = stage.needs
    return dp.Pipeline(stage).run(laws.dataset_of(Path(folder), made, **how), os.path.join(folder, out), runner)


@pytest.mark.parametrize("stage", ESTIMATORS, ids=repr)
@settings(max_examples=8, deadline=None)
@given(made=rows)
def test_estimators_keep_the_laws(stage, made):
    """Batch cuts and part cuts do not change who stays, who goes and for whom; the books balance."""
    assert isinstance(stage, Estimator)
    with tempfile.TemporaryDirectory() as folder:
        one = run(stage, folder, made, "one", rows_per_batch=2)
        two = run(stage, folder, made, "two", rows_per_batch=9)
        laws.same_bytes(f"{folder}/one/data", f"{folder}/two/data")
        laws.same_bytes(f"{folder}/one/drops", f"{folder}/two/drops")
        book = one.stats[-1]
        kept, dropped = one.table().to_pylist(), _drops(f"{folder}/one")
        assert len(kept) + len(dropped) == len(made) == book.docs_in
        kept_ids = {row["id"] for row in kept}
        assert all(d["duplicate_of"] in kept_ids or d["duplicate_of"] is None for d in dropped)
        assert two.stats.to_json() == one.stats.to_json()


def _drops(folder):
    import pyarrow.parquet as pq

    return pq.read_table(f"{folder}/drops").to_pylist()


PAGES = [f"{PAGE[i:]} and page {i} ends here." for i in range(0, 300, 7)]
REAL = [PAGE, PAGE + " More.", PAGE.upper(), "short", "", *PAGES]


@pytest.mark.parametrize("stage", ESTIMATORS[::2], ids=repr)
def test_runners_agree_on_estimators(stage, tmp_path):
    """Two workers write the bytes that one process writes, over several parts."""
    run(stage, str(tmp_path), REAL * 3, "serial", parts=5)
    run(stage, str(tmp_path), REAL * 3, "local", parts=5, runner=laws.TWO)
    laws.same_bytes(tmp_path / "serial", tmp_path / "local")
