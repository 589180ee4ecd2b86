"""A run with every kind of table, everybody who reads them, and tables with other columns than the schemas have.

As a program (`python tests/grown.py FOLDER SUFFIX NAME TYPE PLACE`), it gives the schemas one more column each, in the
source of `core/model/tables.py` and nowhere else, and then does all that is done with tables.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {"string()": pa.string(), "list_(pa.float64())": pa.list_(pa.float64())}
VALUES = {"string()": "because", "list_(pa.float64())": [0.5, 2.0]}
CUTTERS = ("Exact", "SuffixArray")


def grow(name: str, kind: str, place: int) -> None:
    """Import the module of the schemas with a nullable column more in DROPS, CUTS and UNREAD, at this place."""
    spec = importlib.util.find_spec("dataprep.core.model.tables")
    source = Path(spec.origin).read_text(encoding="utf-8")
    for schema in ("DROPS", "CUTS", "UNREAD"):
        pattern = rf"^({schema} = pa\.schema\(\n    \[\n)(.*?)^    \]\n"
        head, rows = re.search(pattern, source, re.MULTILINE | re.DOTALL).groups()
        lines = rows.splitlines(keepends=True)
        lines.insert(min(place, len(lines)), f'        pa.field("{name}", pa.{kind}),\n')
        source = source.replace(head + rows, head + "".join(lines))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    exec(compile(source, spec.origin, "exec"), module.__dict__)  # noqa: S102 - our own source
    import dataprep.core.model

    dataprep.core.model.tables = module


def short(text: str) -> str | None:
    """A filter."""
    return "short" if len(text) < 100 else None


def write_input(home: Path) -> None:
    """Texts with copies, nearly equal ones, repeated passages and short ones; and a file without documents."""
    texts = []
    for k in range(12):
        own = [f"page {k} " + " ".join(f"w{k * (i + 7) % 97}x{k}" for i in range(60))]
        texts += ["\n".join(own), f"tiny {k}"]
        if k % 3 == 1:
            texts[-2] += "\nread more of it here"
        if k % 3 == 0:
            texts += ["\n".join(own), own[0] + " and more"]
        if k % 4 == 1:
            texts.append(f"again {k} " + " ".join(f"z{k * i % 89}" for i in range(60)) + own[0][40:260])
    (home / "in").mkdir(parents=True)
    for n in range(2):
        rows = "".join(json.dumps({"text": text}) + "\n" for text in texts[n::2])
        (home / "in" / f"{n}.jsonl").write_text(rows, encoding="utf-8")
    (home / "in" / "none.jsonl").write_text("", encoding="utf-8")


def stages():
    """Every kind of stage that writes a table."""
    import dataprep as dp

    cut = dp.SuffixArray(min_bytes=80)
    return [dp.Filter(short), dp.Bloom(), dp.Exact(unit="line"), dp.MinHash(threshold=0.6), cut]


def run(home: Path, out: str, *more):
    """Run the pipeline on the input in `home`, or continue it, or open its result."""
    import dataprep as dp

    docs = dp.read(str(home / "in" / "*.jsonl"), on_bad_file="skip")
    return dp.Pipeline(*stages(), *more).run(docs, str(home / out / "clean"), dp.tools.Serial())


def forget_one(home: Path, out: str) -> int:
    """Forget the first document, and return its id."""
    import dataprep as dp

    first = dp.open_dataset(str(home / out / "clean")).table(["id"])["id"][0].as_py()
    dp.tools.forget(str(home / out), [first])
    return int(first)


READERS = {}


def reader(read):
    """Register a function that reads tables of the run in a folder; its result is what they say."""
    READERS[read.__name__] = read
    return read


@reader
def rows(clean):
    """The tables as they are."""
    import dataprep as dp

    docs = dp.open_dataset(clean)
    return [docs.drops().to_pylist(), docs.cuts().to_pylist(), docs.unread().to_pylist()]


@reader
def fates(clean):
    """Why each document was dropped or cut, and the texts."""
    import dataprep as dp
    from dataprep.history import why

    docs = dp.open_dataset(clean)
    found = []
    for id_ in sorted({*docs.drops()["id"].to_pylist(), *docs.cuts()["id"].to_pylist()}):
        fate = why.follow(clean, id_)
        found.append(asdict(fate))
        for drop in fate.drops:
            found += [why.dropped_document(clean, drop), why.survivor(clean, drop)]
    return found


@reader
def duplicates(clean):
    """Clusters, similarities, recall, and the texts that were cut."""
    import dataprep as dp
    from dataprep.history import clusters, cuts, recall

    found = clusters.find_clusters(clean)
    alike = {stage: (one.hundredths.tolist(), one.same) for stage, one in clusters.similarities(clean).items()}
    least = [*map(asdict, clusters.least_similar(clean, 9))]
    cut = [*map(asdict, cuts.most_repeated_cuts(clean, 9))]
    of_scripts = [*map(asdict, recall.recall_by_script(dp.open_dataset(clean)))]
    return [list(map(asdict, found.largest(9))), alike, least, cut, of_scripts]


@reader
def reasons(clean):
    """The reason of each document, looked up as for a comparison of two results."""
    import numpy as np

    import dataprep as dp
    from dataprep.history.drop_reasons import DropReasons

    ids = np.unique(dp.open_dataset(clean).drops()["id"].to_numpy())
    return DropReasons(clean).of(ids)


@reader
def dropped(clean):
    """The documents that were dropped, with the columns of the table."""
    import dataprep as dp

    return dp.open_dataset(clean).dropped().table().to_pylist()


@reader
def cut_texts(clean):
    """The texts that were cut."""
    import dataprep as dp

    return [dp.open_dataset(clean).cut_texts(stage).table().to_pylist() for stage in CUTTERS]


def of_steps(clean):
    """The stages that apply the decisions of the steps."""
    from dataprep.core.model.verdict import CutSpans, DropIds

    given = {"key": "", "estimator": "again"}
    for url in sorted(Path(clean).glob("steps/*/*.parquet")):
        cuts = url.name == "spans.parquet"
        yield CutSpans(spans=str(url), **given) if cuts else DropIds(verdicts=str(url), **given)


@reader
def verdicts(clean):
    """What the decisions of each step, and the list of forgotten documents, do to the documents of the input."""
    import dataprep as dp
    from dataprep.core.model.verdict import DropIds

    docs, found = dp.open_dataset(clean).dropped(), []
    for stage in [*of_steps(clean), DropIds(verdicts=f"{clean}/forget.parquet", key="", estimator="again")]:
        part = docs.then(stage).parts[0]
        ledgers = part.ledgers()
        left = [row["text"] for batch in part.batches(ledgers=ledgers) for row in batch.to_pylist()]
        found += [left, ledgers[-1].drop_table().to_pylist(), ledgers[-1].cut_table().to_pylist()]
    return found


@reader
def annotated(clean):
    """The decisions as columns."""
    import dataprep as dp
    from dataprep.core.model.annotate import annotated

    docs = dp.open_dataset(clean).dropped()
    found = [docs.then(annotated(stage, "x_")).table().to_pylist() for stage in of_steps(clean)]
    for table in Path(clean).glob("steps/*/clusters.parquet"):
        table.unlink()
    return found


@reader
def report(clean):
    """The report, without its figures of time."""
    from dataprep.history.run_summary import summarize
    from dataprep.report import render

    return re.findall(r"<h2[^>]*>.*?</h2>", render(summarize(clean)))


@reader
def verified(clean):
    """No damage is found."""
    import dataprep as dp

    return [problem for found in dp.tools.verify(clean).values() for problem in map(str, found)]


def everything(home: Path, out: str) -> dict[str, str]:
    """What every reader makes of the tables of a run, by reader; the place of the run is left out."""
    clean = str(home / out / "clean")
    return {name: repr(read(clean)).replace(str(home / out), "RUN") for name, read in READERS.items()}


def with_tables(home: Path, out: str, change, name: str = "clean") -> list[Path]:
    """Write every table of a result again, as `change(name of the table, rows)` has it, and restate the receipts."""
    from dataprep.store import files, receipts

    changed = []
    clean = home / out / name
    for url in sorted(clean.rglob("*.parquet")):
        kind = url.parent.name if url.parent.name in {"drops", "cuts", "data"} else url.stem
        if kind == "data":
            continue
        pq.write_table(change(kind, pq.read_table(url)), url, row_group_size=5)
        changed.append(url)
        for record in clean.rglob("*.json"):
            if "files" in json.loads(record.read_text(encoding="utf-8")) and record.name != "origin.json":
                receipts.restate(str(record), str(url))
    for manifest in clean.rglob("manifest.json"):
        state = json.loads(manifest.read_text(encoding="utf-8"))
        if "unread" in state:
            url = str(manifest.parent / state["unread"]["name"])
            state["unread"] |= {"size": files.size(url), "hash": files.content_hash(url)}
            files.write_state(str(manifest), state)
    return changed


def unfinished(home: Path, out: str) -> None:
    """Remove what a run writes at its end, so that the next one reads the decisions of the steps again."""
    clean = home / out / "clean"
    (clean / "manifest.json").unlink()
    for folder in ("data", "drops", "cuts", "receipts"):
        shutil.rmtree(clean / folder)


def _main(home: Path, suffix: str, name: str, kind: str, place: int) -> None:
    grow(name, kind, place)
    import dataprep as dp
    from dataprep.core.model import tables
    from dataprep.core.model.estimator import Estimator
    from dataprep.core.model.stage import Stage
    from dataprep.core.model.tables import CUTS, DROPS, SPANS, UNREAD, VERDICTS

    assert all(schema.field(name).type == TYPES[kind] for schema in (DROPS, CUTS, UNREAD, VERDICTS, SPANS))
    value = VALUES[kind]

    def plain(found):
        """Without the new column, which is null."""
        null = f"'{name}': None"
        return {one: said.replace(f"{null}, ", "").replace(f", {null}", "") for one, said in found.items()}

    before = json.loads((home / "before.json").read_text(encoding="utf-8"))
    older, newer = f"older{suffix}", f"newer{suffix}"
    shutil.copytree(home / "older", home / older)
    for out in (older, newer):  # a folder without the column, and one with it
        if out == newer:
            run(home, out)
            forget_one(home, out)
            run(home, out)
        found = everything(home, out)
        assert found["rows"].count(f"'{name}': None") > 10, found["rows"]
        for one, said in plain(found).items():
            assert said == before[one], (out, one, said, before[one])
        clean = home / out / "clean"
        assert name in dp.open_dataset(str(clean)).dropped().columns
        in_file = [name in pq.read_schema(url).names for url in clean.glob("drops/*.parquet")]
        assert all(in_file) if out == newer else not any(in_file)
        unfinished(home, out)
        run(home, out)
        assert dp.open_dataset(str(clean)).drops()["id"].to_pylist()
        assert [name in pq.read_schema(url).names for url in clean.glob("drops/*.parquet")] == [True] * len(in_file)
    forget_one(home, older)
    assert [*everything(home, older)] == [*READERS]

    @dataclass(frozen=True)
    class Marks(Estimator):
        """Drops the first document, with a value in the new column."""

        def fit(self, docs, runner, out):
            """One row."""
            ids = docs.table(["id"])["id"].to_pylist()[:1]
            further = {"reason": ["marked"], name: pa.array([value], TYPES[kind])}
            return self.drop(docs, out, pa.table({"id": pa.array(ids, pa.uint64()), **further}))

    @dataclass(frozen=True)
    class Books(Stage):
        """Drops and cuts with the new column."""

        def __call__(self, batches, stats):
            """Drop the first document of a batch; the second lost a byte."""
            for batch in batches:
                further = {name: pa.array([value], TYPES[kind])}
                stats.drop(batch["id"][:1], "booked", **further)
                stats.cut(batch["id"][1:2], [0], [1], **further)
                yield batch.slice(1)

    done = run(home, f"marked{suffix}", Marks(), Books())
    marked = [row for row in done.drops().to_pylist() if row[name] is not None]
    assert {row["reason"] for row in marked} == {"marked", "booked"}
    assert all(row[name] == value for row in marked)
    assert [row[name] for row in done.cuts().to_pylist() if row["stage"] == "Books"][:1] == [value]
    assert sum(row[name] == value for row in done.dropped().table().to_pylist()) == len(marked)
    assert tables.Drop.__dataclass_fields__.keys().isdisjoint({name})


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    _main(Path(sys.argv[1]), *sys.argv[2:5], int(sys.argv[5]))
