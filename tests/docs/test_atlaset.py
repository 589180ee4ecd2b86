"""A local data set of AtlaSet's shape through `pipelines/atlaset.py`, to shards and 100 training steps."""

from __future__ import annotations

import itertools
import random
import sys

import pytest

import dataprep as dp
from dataprep import pipeline_file
from dataprep.core.run.runner import Serial
from dataprep.history.comparison import compare

duckdb, datasets = pytest.importorskip("duckdb"), pytest.importorskip("datasets")
pytest.importorskip("py3langid")
pytest.importorskip("torch")

ARABIC = (
    "هاد ديال اللي واش غير كان مشيت السوق الدار الناس بزاف كيديرو خدمة نهار الصباح العشية مزيان شوية القهوة الحليب "
    "الخبز المدينة البحر الجبل طريق السيارة صاحبي خويا ختي الوالدة الدراري كيلعبو كيقراو المدرسة الشتا البرد الصيف"
)
ARABIZI = (
    "had dyal li wach ghir kan mchit souk dar nas bzaf kaydiro khdma nhar sbah 3chiya mzyan chwiya 9ahwa 7lib khobz "
    "mdina b7ar jbel tri9 tomobil sa7bi khouya khti lwalida drari kayl3bo kay9raw mdrasa chta berd sif daba"
)
FRENCH = (
    "je suis allé avec les enfants dans la ville et nous avons mangé du pain au marché puis une voisine est venue pour "
    "parler de son travail qui commence très tôt le matin quand il fait encore nuit dehors et que personne ne parle"
)
CITIES = "طنجة تطوان فاس مكناس الرباط سلا القنيطرة الدار مراكش آسفي الصويرة أكادير وجدة الناظور الحسيمة بركان"


def rows() -> list[dict[str, str]]:
    """Invented texts of six collections: three languages, templates, copies and near-duplicates across collections."""
    chance = random.Random(5)

    def text(words: str) -> str:
        return " ".join(chance.choice(words.split()) for _ in range(chance.randrange(25, 45)))

    made = [("web", text(ARABIC)) for _ in range(120)] + [("chat", text(ARABIZI)) for _ in range(100)]
    made += [("forum", text(FRENCH)) for _ in range(60)]
    made += [
        ("weather", f"الجو اليوم فمدينة {city} غادي يكون مزيان بزاف والحرارة ديال النهار {n} درجة وغير شوية ديال الريح")
        for city, n in itertools.product(CITIES.split(), range(20, 25))
    ]
    some = chance.sample(made[:220], 60)
    made += [("mirror", text) for _, text in some[:20]]
    made += [("aggregator", " ".join(["هاد", *text.split()[1:]])) for _, text in some[20:]]
    return [{"text": text, "dataset_source": source} for source, text in made]


@pytest.fixture(scope="module")
def done(root, tmp_path_factory):
    """The results of all steps by name."""
    place = tmp_path_factory.mktemp("atlaset")
    datasets.Dataset.from_list(rows()).save_to_disk(str(place / "set"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLASET", str(place / "set"))
        patch.setenv("ATLASET_VOCABULARY", "500")
        steps = pipeline_file.load(str(root / "pipelines" / "atlaset.py"))
        module = sys.modules[steps[0].fn.__module__]
        from dataprep.train import preset

        small = ("steps=100", "model.context=32", "model.d_model=32", "model.n_layers=1", "eval_rows=2")
        module.PRESET = preset("tiny").override(*small)
        module.VAL = 0.1
        return {d.name: d.result for d in pipeline_file.execute(steps, str(place / "out"), Serial())}


def by_source(url: str) -> dict[str, int]:
    """Documents of each collection, by DuckDB."""
    query = f"SELECT dataset_source, count(*) FROM '{url}/data/*.parquet' GROUP BY 1"
    return dict(duckdb.sql(query).fetchall())


def test_survival_of_each_source(done):
    """After each step, the statistics of each collection are those that DuckDB counts in the tables."""
    before = None
    for name in ("ingest", "language", "filter", "dedup_exact", "dedup_minhash"):
        after = by_source(done[name].url)
        assert {source: n.docs for source, n in done[name].stats[-1].out.items()} == after
        if before is not None:
            assert {source: n.docs for source, n in done[name].stats[0].into.items()} == before
            drops = duckdb.sql(
                f"SELECT dataset_source, count(*) FROM '{done[name].url}/drops/*.parquet' "
                f"JOIN '{done['ingest'].url}/data/*.parquet' USING (id) GROUP BY 1"
            ).fetchall()
            dropped = dict(drops)
            assert {source: after.get(source, 0) + dropped.get(source, 0) for source in before} == before
        before = after
    first, last = by_source(done["ingest"].url), by_source(done["dedup_minhash"].url)
    assert first == {"web": 120, "chat": 100, "forum": 60, "weather": 80, "mirror": 20, "aggregator": 40}
    assert last.get("forum", 0) <= 3
    assert (last.get("mirror", 0), last.get("aggregator", 0)) <= (0, 2)
    assert (last["web"] >= 118, last["chat"] >= 85, last["weather"] < 80) == (True, True, True)


def test_overlap_of_the_methods(done, tmp_path):
    """What Exact drops, what MinHash drops, and what both do: `dataprep diff` and DuckDB count the same documents."""
    one, two = (
        dp.Pipeline(step).run(done["filter"], out=str(tmp_path / name))
        for name, step in (("exact", dp.Exact()), ("minhash", dp.MinHash(preset="dialect")))
    )
    found = compare(one.url, two.url)
    query = f"""
        SELECT count(*) FILTER (WHERE m.id IS NULL), count(*) FILTER (WHERE e.id IS NULL),
               count(*) FILTER (WHERE e.id IS NOT NULL AND m.id IS NOT NULL)
        FROM '{one.url}/drops/*.parquet' e FULL JOIN '{two.url}/drops/*.parquet' m USING (id)
    """
    only_exact, only_minhash, both = duckdb.sql(query).fetchall()[0]
    assert sum(amount.docs for amount in found.gained.sources.values()) == only_exact
    assert sum(amount.docs for amount in found.lost.sources.values()) == only_minhash
    assert sum(amount.docs for amount in found.both.values()) == done["filter"].count - only_exact - only_minhash - both
    assert (only_exact, both) == (0, 20)
    assert only_minhash > 40


def test_shards_and_steps(done):
    """All documents that are left are in the shards, and the model is trained for 100 steps."""
    assert len(done["encode"]) == done["dedup_minhash"].count
    assert done["train"].steps == 100
