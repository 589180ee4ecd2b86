"""Texts: a dropped document next to the kept one, the decisions about one document, and a search for a text.

All texts are read from the run's folder or its input when they are requested (`history/texts.py`), so the page shows
the same as `dataprep why`: no text that a stage hides, private data as replaced by later stages, and no forgotten
documents.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from dataprep.core.model.batch import show_id
from dataprep.core.model.tables import Cut, Drop
from dataprep.core.output.forget_list import REASON
from dataprep.core.output.layout import home_of
from dataprep.core.output.lineage import family
from dataprep.core.output.run_folder import token_folders
from dataprep.errors import PlanError
from dataprep.history.cuts import context
from dataprep.history.removed_hits import RemovedHit, find_kept, find_removed
from dataprep.history.replay import rule_cuts
from dataprep.history.review import content_of
from dataprep.history.run_summary import token_shards
from dataprep.history.texts import DocumentsAsRead, pairs_of
from dataprep.history.why import Fate, follow
from dataprep.history.word_diff import DiffSide, word_diff
from dataprep.store import files

from .index import RunIndex
from .view_query import ViewQuery

TITLE_CHARS, TEXT_CHARS, PAIR_CHARS = 200, 20_000, 6_000
MOST_CUTS, CUT_CHARS = 50, 400  # shown of one stage in one document
MOST_HITS, AROUND = 20, 120
CONTENTS = "contents"  # in `RunIndex.kept`: the hash of the texts of each drop that were read, by id and stage


def titles(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the beginnings of the texts of the documents `ids`, null for unreadable ones."""
    ids = asked.ids("ids")
    documents, drops = DocumentsAsRead(index.url, ids), _drops_of(index, ids)
    found = {}
    for id_ in ids:
        row = documents.dropped(drops[id_][0]) if id_ in drops else documents.row(id_)
        found[show_id(id_)] = None if row is None else {
            "text": str(row["text"])[:TITLE_CHARS], "source": row["source"],
        }  # fmt: skip
    return {"titles": found}


def _drops_of(index: RunIndex, ids: Sequence[int]) -> dict[int, list[Drop]]:
    """Return the drops of the documents by id, drops as a duplicate first."""
    rows = index.rows(
        "SELECT * FROM drops WHERE list_contains(?::UBIGINT[], id) ORDER BY id, duplicate_of IS NULL", [list(ids)]
    )
    return {id_: [index.drop(row) for row in some] for id_, some in groupby(rows, lambda row: row["id"])}


def pair(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return a dropped document, `id`, and the document kept in its place, with the words that differ."""
    (id_,) = asked.ids("id")[:1]
    drops = _drops_of(index, [id_]).get(id_, [])
    if not drops:
        msg = f"no stage dropped the document {show_id(id_)}"
        raise PlanError(msg)
    return {"pair": pair_of(index, pairs_of(index.url, drops[:1]), drops[0])}


def pair_of(index: RunIndex, documents: DocumentsAsRead, drop: Drop) -> dict[str, Any]:
    """Return the two texts of a drop as runs of words [kind, text]; null for a text that cannot be read.

    - documents: the documents of the drop.

    `content` is the hash of the texts.
    """
    rows = documents.dropped(drop), documents.survivor(drop)
    texts = [None if row is None else str(row["text"]) for row in rows]
    sides = word_diff(texts[0] or "", texts[1] or "", PAIR_CHARS)
    (end,) = index.rows(
        "SELECT any_value(root) AS root, any_value(home) AS home, any_value(end_stage) AS end_stage, "
        "any_value(end_reason) AS end_reason FROM members JOIN clusters USING (root, home) WHERE id = ?",
        [documents.members[drop.folder].first_id(drop.id)],
    )
    kept = drop.duplicate_of
    return {
        "id": show_id(drop.id), "stage": drop.stage, "reason": drop.reason, "similarity": drop.similarity,
        "value": drop.value, "label": drop.label, "folder": drop.folder,
        "source": drop.source if rows[0] is None else rows[0]["source"],
        "duplicate_of": None if kept is None else show_id(kept), "duplicate_of_dataset": drop.duplicate_of_dataset,
        "kept_source": None if rows[1] is None else rows[1]["source"],
        "dropped": _side(texts[0], sides[0]), "kept": _side(texts[1], sides[1]),
        "root": None if end["root"] is None else show_id(end["root"]),
        "root_dataset": None if end["home"] is None else index.homes[end["home"]],
        "end_stage": end["end_stage"], "end_reason": end["end_reason"], "content": content_of(*texts),
    }  # fmt: skip


def _side(text: str | None, side: DiffSide) -> list[list[str]] | None:
    return None if text is None else [[run.kind, run.text] for run in side]


def document(index: RunIndex, asked: ViewQuery) -> dict[str, Any]:
    """Return the decisions about a document, `id`: drops, the cuts of each stage, where it is kept; and its text.

    For a duplicate, also what `pair` returns. For a dropped document, `content` is the hash of the shown texts, which a
    judgement on it states. It is also kept for `review.reviewed`.
    """
    (id_,) = asked.ids("id")[:1]
    fate = follow(index.url, id_)
    drop = fate.drops[0] if fate.drops and fate.drops[0].id == id_ else None
    documents = DocumentsAsRead(index.url, [id_]) if drop is None else pairs_of(index.url, [drop])
    row = documents.row(id_) if drop is None else documents.dropped(drop)
    is_forgotten = any(one.reason == REASON for one in fate.drops)
    (own,) = index.rows("SELECT count(*) AS n FROM members WHERE id = ? OR (root = ? AND home = 0)", [id_, id_])
    both = None if drop is None or drop.duplicate_of is None else pair_of(index, documents, drop)
    content = None
    if drop is not None:
        content = both["content"] if both else content_of(None if row is None else str(row["text"]), None)
        index.kept.setdefault(CONTENTS, {})[id_, drop.stage] = content
    return {
        "id": show_id(id_), "source": None if row is None else row["source"],
        "text": None if row is None else str(row["text"])[:TEXT_CHARS],
        "chars": None if row is None else len(row["text"]),
        "drops": [_step(one) for one in fate.drops],
        "kept_in": fate.home or fate.survivor_in, "survivor": show_id(fate.survivor),
        "cuts": [] if is_forgotten else [*_span_cuts(documents, fate), *_rule_cuts(documents, id_)],
        "has_cluster": own["n"] > 0, "shard": None if drop or is_forgotten else _in_shards(index, id_),
        "pair": both, "content": content,
    }  # fmt: skip


def _in_shards(index: RunIndex, id_: int) -> dict[str, Any] | None:
    """Return the place of a document in the run's token shards, with the documents next to it; None if it is in none.

    The place is that of its first copy; `start` and `stop` count tokens.
    """
    folder, shards = next(iter(token_folders(index.url)), None), token_shards(index.url)
    if folder is None or shards is None or (origin := folder.origin) is None:
        return None
    homes = {files.real(home.url) for row in origin.files if (home := home_of(row.url)) is not None}
    members = [one for one in family(index.url, saved=False) if files.real(one.url) in homes]
    ways = list(members[0].own_ids([id_])) if len(homes) == len(members) == 1 else []
    for number, (shift, (own,)) in itertools.product(range(len(shards.shards)), ways):
        docs = shards.docs(number, ["id", "start", "stop"])
        ids = docs["id"].to_numpy()
        for at in np.flatnonzero(ids == np.uint64(own))[:1]:
            near = [ids[i] for i in (at - 1, at + 1) if 0 <= i < len(ids)]
            return {"folder": folder.url, "shard": shards.shards[number].name,
                    "start": docs["start"][at].as_py(), "stop": docs["stop"][at].as_py(),
                    "near": [show_id(int(one) + shift) for one in near]}  # fmt: skip
    return None


def _step(drop: Drop) -> dict[str, Any]:
    kept = drop.duplicate_of
    return {
        "id": show_id(drop.id), "stage": drop.stage, "reason": drop.reason, "similarity": drop.similarity,
        "value": drop.value, "label": drop.label, "folder": drop.folder,
        "duplicate_of": None if kept is None else show_id(kept), "duplicate_of_dataset": drop.duplicate_of_dataset,
    }  # fmt: skip


def _span_cuts(documents: DocumentsAsRead, fate: Fate) -> list[dict[str, Any]]:
    """Return the cuts that cut tables record, by stage, with the text around each."""
    found = []
    for (folder, stage), some in groupby(fate.cuts, lambda cut: (cut.folder, cut.stage)):
        cuts = list(some)
        data = documents.text(fate.id, folder, stage)
        pieces = [_piece(cut, data) for cut in cuts[:MOST_CUTS]]
        found.append({"folder": folder, "stage": stage, "n": len(cuts), "cuts": pieces,
                      "bytes": sum(cut.end - cut.start for cut in cuts)})  # fmt: skip
    return found


def _piece(cut: Cut, data: bytes | None) -> dict[str, Any]:
    kept = cut.duplicate_of
    around = None if data is None or cut.end > len(data) else context(data, cut.start, cut.end, 60, CUT_CHARS)
    return {
        "rule": cut.reason, "start": cut.start, "end": cut.end, "text": None if around is None else around[1],
        "before": None if around is None else around[0], "after": None if around is None else around[2],
        "duplicate_of": None if kept is None else show_id(kept), "duplicate_of_dataset": cut.duplicate_of_dataset,
    }  # fmt: skip


def _rule_cuts(documents: DocumentsAsRead, id_: int) -> list[dict[str, Any]]:
    """Return the cuts of stages without cut tables, which are run on the document again, by stage."""
    found = []
    for (folder, stage), some in groupby(rule_cuts(documents.url, id_, documents), lambda cut: (cut.folder, cut.stage)):
        cuts = list(some)
        pieces = [{"rule": cut.rule, "start": cut.start, "end": cut.end, "before": "", "after": "",
                   "text": None if cut.text is None else cut.text[:CUT_CHARS], "duplicate_of": None,
                   "duplicate_of_dataset": None} for cut in cuts[:MOST_CUTS]]  # fmt: skip
        found.append({"folder": folder, "stage": stage, "n": len(cuts), "cuts": pieces,
                      "bytes": sum(cut.end - cut.start for cut in cuts)})  # fmt: skip
    return found


def search(index: RunIndex, asked: ViewQuery, most: int | None = MOST_HITS) -> dict[str, Any]:
    """Return the occurrences of a text, `text`, in the kept texts and in the input, and what removed them.

    - most: the number of documents of each kind to return; None: all.

    The first part is about the kept texts: their suffix index is used, if there is one. Each further part is a document
    that lost the text. Raises the errors of `find_removed`.
    """
    text = asked.text("text")
    kept = find_kept(index.url, text, asked.runner, most, AROUND)
    shown = {
        "times": int(kept.times.sum()), "documents": len(kept.ids), "is_indexed": kept.is_indexed,
        "hits": [{**asdict(hit), "id": show_id(hit.id)} for hit in kept.hits],
    }  # fmt: skip
    asked.part({"kept": shown})
    found = find_removed(index.url, text, asked.runner, most, AROUND, kept=kept,
                         each=lambda hit: asked.part({"hit": _removed(hit)}))  # fmt: skip
    return {
        "times": found.times, "documents": found.documents, "times_removed": found.times_removed,
        "documents_removed": found.documents_removed, "hits": [_removed(hit) for hit in found.hits], "kept": shown,
    }  # fmt: skip


def _removed(hit: RemovedHit) -> dict[str, Any]:
    causes = [{"how": one.how, "stage": one.stage, "rule": one.rule} for one in hit.causes]
    return {"id": show_id(hit.id), "source": hit.source, "times": hit.times, "around": hit.around, "causes": causes}
