"""Nothing of what a stage hides is in the output folder, wherever the stage stands."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dataprep as dp
from dataprep import extend
from dataprep.errors import FunctionFailed
from dataprep.messages.names.consent import Consent
from dataprep.messages.names.stage import Pseudonyms
from dataprep.store import atomic, files

# The folder of the input, a person who refused and what she says, a document that is dropped.
SECRETS = ("zzfolder", "zzadmira", "zzrefused", "zzdropped")
HER, OTHER = "Zzadmira", "Orsi"


@dataclass(frozen=True)
class Hide(extend.Stage):
    """Drops what a person wrote, and hides what came before it."""

    hides = True
    needs = ("author",)

    def __call__(self, batches, stats):
        """Yield the documents of others."""
        return dp.Filter(not_hers)(batches, stats)


@dataclass(frozen=True)
class HideLater(extend.Estimator):
    """The same as an Estimator."""

    hides = True

    def fit(self, docs, runner, out):
        """Return the stage."""
        return Hide()


def not_hers(author):
    """Drop what a person who refused wrote."""
    return "refused" if author == HER else None


def clean(text):
    """Drop a document."""
    return "unclean" if "zzdropped" in text else None


def long(text):
    """Drop a document of the others."""
    return "short" if len(text) < 9 else None


REFUSED = Consent(refused=(HER,))
HIDING = {"stage": Hide(), "estimator": HideLater(), "consent": REFUSED,
          "pseudonyms": Pseudonyms(key=b"0123456789abcdef", consent=REFUSED)}  # fmt: skip
FILTER, CUT, LATER = dp.Filter(clean), dp.Exact(unit="line"), (dp.Filter(long), dp.Exact())
LAYOUTS = {  # H is the stage that hides
    "alone": ("H",), "last": (FILTER, "H"), "first": ("H", *LATER), "after an estimator": (FILTER, CUT, "H"),
    "between": (FILTER, CUT, "H", *LATER), "twice": ("H", CUT, Hide()),
}  # fmt: skip
FEW, NAMED = ("alone", "between"), ["stage", "source"]
CASES = [(layout, how) for how in HIDING for layout in LAYOUTS if how == "stage" or layout in FEW]


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """Messages of two people in two files, of which another is not read."""
    folder = tmp_path_factory.mktemp("in") / SECRETS[0]
    folder.mkdir()
    said = [(HER, "this is zzrefused by her"), (OTHER, "kept\\na line of two"), (OTHER, "also kept\\na line of two"),
            (OTHER, "short"), (OTHER, "a long text that is kept")]  # fmt: skip
    for name in ("a", "b"):
        rows = [{"text": f"{text} {name}".replace("\\n", "\n"), "author": who} for who, text in said]
        rows.append({"text": f"zzdropped {name}", "author": HER})
        lines = [json.dumps(row | {"chat": "c", "kind": "text", "time": "2024-05-01T10:00:00"}) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    (folder / "empty.jsonl").touch()
    return dp.read(str(folder), columns=["author", "chat", "kind", "time"])


@pytest.mark.parametrize(("layout", "how"), CASES)
def test_nothing_hidden_is_left(docs, tmp_path, layout, how):
    """In no file and no name of one, in a new folder and in one where the same steps ran without the stage before."""
    hidden = [HIDING[how] if stage == "H" else stage for stage in LAYOUTS[layout]]
    before = [stage for stage in LAYOUTS[layout] if stage != "H" and not stage.hides]
    dp.Pipeline(*before).run(docs, str(tmp_path / "used"))
    assert {"zzrefused", "zzadmira"} <= found(tmp_path / "used")
    for name in ("new", "used"):
        made = dp.Pipeline(*hidden).run(docs, str(tmp_path / name), replace=True)
        assert found(tmp_path / name) == set()
        assert 0 < made.count < docs.count
        assert steps_of(tmp_path / name) == saved_after(hidden, docs)
        rows = pa.concat_tables([made.drops().select(NAMED), made.cuts().select(NAMED)]).to_pylist()
        last = max(n for n, stage in enumerate(hidden) if stage.hides)
        seen = {stage.name for stage in made.stats.stages[last + len(made.stats) - len(hidden) + 1 :]}
        assert any(row["source"] is None for row in rows)
        assert all((row["source"] is not None) == (row["stage"] in seen) for row in rows)
    dp.Pipeline(LATER[0]).run(made, str(tmp_path / "again"))
    assert found(tmp_path / "again") == set()


def test_stages_that_wait_hide_too(docs, tmp_path):
    """A stage of the input that was not run before leaves nothing of earlier runs either."""
    dp.Pipeline(FILTER, CUT).run(docs, str(tmp_path))
    assert {"zzrefused", "zzadmira"} <= found(tmp_path)
    last = dp.Pipeline(dp.Filter(long))
    last.run(docs.then(Hide()), str(tmp_path), replace=True)
    assert found(tmp_path) == set()
    assert steps_of(tmp_path) == []
    left = files.join(str(tmp_path), "steps", "01-Exact-01234567", "verdicts.parquet")
    atomic.note(left)
    files.write_bytes(left, b"zzrefused")
    (tmp_path / "_unfinished").mkdir()
    os.rename(tmp_path / "recipe.json", tmp_path / "_unfinished" / "recipe.json")  # what a commit moves last
    last.run(docs.then(Hide()), str(tmp_path))  # finished before, but killed before it had removed all
    assert found(tmp_path) == set()


def fails(text):
    """End the run, at a document that is not the first."""
    if "a long text" in text:
        raise ValueError(text)


def test_work_of_a_run_that_failed_is_named_and_removed(docs, tmp_path):
    """A recipe that hides nothing failed in a folder that hides: `verify` says what is left, a run removes it."""
    out = str(tmp_path)
    private = dp.Pipeline(FILTER, Hide())
    before = private.run(docs, out)
    assert (found(tmp_path), dp.tools.verify(out)) == (set(), {out: []})
    with pytest.raises(FunctionFailed):
        dp.Pipeline(FILTER, dp.Exact(), dp.Filter(fails)).run(docs, out, replace=True)
    assert {"zzrefused", "zzadmira"} <= found(tmp_path)
    steps = [f"steps/{name}" for name in steps_of(tmp_path)]
    assert steps
    assert [problem.file for problem in dp.tools.verify(out)[out]] == ["_unfinished", *steps]
    assert private.run(docs, out).key == before.key
    assert (found(tmp_path), steps_of(tmp_path), dp.tools.verify(out)) == (set(), [], {out: []})


def steps_of(folder):
    """The names of the saved steps."""
    return sorted(os.listdir(folder / "steps")) if (folder / "steps").exists() else []


def saved_after(stages, docs):
    """The steps of the Estimators behind the last stage that hides."""
    last = max(n for n, stage in enumerate(stages) if stage.hides)
    steps = dp.Pipeline(*stages).plan(docs, "out").steps[last + 1 :]
    return [step.name for step in steps if hasattr(step.stage, "fit")]


def found(folder):
    """The secrets in all files of a folder and in their names."""
    told = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            told += [str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "replace")]
            told += [str(pq.read_table(path).to_pylist())] if name.endswith(".parquet") else []
    text = "\n".join(told).casefold()
    return {secret for secret in SECRETS if secret in text}
