"""The result of a sweep over mixtures: its tables, as text, Markdown and JSON, and its pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dataprep.errors import counted
from dataprep.report.difference_charts import standalone
from dataprep.report.experiments import PICTURES
from dataprep.report.mixture_charts import agreement

from .mixture import BEST, CANDIDATES, NATURAL, PROPOSED, Sweep
from .regression import BOOSTED
from .result import Experiment
from .tables import aligned

MIXTURES = "mixtures.svg"


@dataclass(frozen=True)
class MixtureExperiment(Experiment):
    """The result of `experiment` with `mix`: weights of sources, and whether they make a better model.

    Attributes:
        mixture: the sweep as plain values: `sources` with their tokens and weights; `points`, the mixtures with their
            weights, measured and predicted losses; `regression` with its error; `predicted`, the losses of the natural
            and the proposed mixture, or None; `why`, the reason why no weights are proposed.

    `versions` and `measures` compare the proposed with the natural mixture; they are empty if no weights are proposed.
    """

    mixture: dict[str, Any] = field(default_factory=dict)

    @property
    def weights(self) -> dict[str, float] | None:
        """The proposed weights, {source: weight}, for `dp.train` or `dp.Mix`; None if none are proposed."""
        found = {name: of["proposed"] for name, of in self.mixture["sources"].items()}
        return None if None in found.values() else found

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        return {**super().to_dict(), "mixture": self.mixture}

    def tables(self) -> list[list[list[str]]]:
        """Return the tables: the mixtures that were tried, the sources, and the comparison if there is one."""
        sources = self.mixture["sources"]
        tried = [["mixture", *sources, "bits per byte", "predicted"]]
        for point in self.mixture["points"]:
            each = [f"{point['weights'][name]:.1%}" for name in sources]
            tried.append([point["name"], *each, f"{point['bits_per_byte']:.4f}", f"{point['predicted']:.4f}"])
        rows = [["source", "documents", "tokens", "natural", "passes", "proposed", "passes"]]
        for name, of in sources.items():
            counts = [f"{of['documents']:,}", f"{of['tokens']:,}"]
            weights = [(of[which], of["epochs"][which]) for which in (NATURAL, PROPOSED)]
            said = [one for w, n in weights for one in (("", "") if w is None else (f"{w:.1%}", f"{n:.2g}"))]
            rows.append([name, *counts, *said])
        if self.weights is None:
            return [tried, rows]
        result = [["mixture", "predicted", "bits per byte", "difference", "95 % interval", "verdict"]]
        predicted = self.mixture["predicted"]
        for name, row in zip((NATURAL, PROPOSED), self.table(), strict=True):
            result.append([name, f"{predicted[name]:.4f}", *row[-4:]])
        return [tried, rows, result, self.measure_table()]

    def _removed(self) -> dict[str, int]:
        return {name: of["contaminated"] for name, of in self.mixture["sources"].items()}

    def __str__(self) -> str:
        tables = self.tables()[:3]
        return "\n".join([*(line for rows in tables for line in (*aligned(rows), "")), *self.notes()])

    def notes(self) -> list[str]:
        """Return sentences about what was compared, and how."""
        found, predicted = self.mixture["regression"], self.mixture["predicted"]
        others = ", ".join(f"{name} {r2:.2f}" for name, r2 in found["tried"].items())
        missing = "" if BOOSTED in found["tried"] else f"; {BOOSTED} need pip install 'dataprep-lm[mixtures]'"
        said = f"predicted by {found['name']} from the other mixtures, for {', '.join(found['domains'])}"
        lines = [f"{said}: error {found['error']:.4f} bits per byte; R2 {others}{missing}"]
        if predicted is None:
            lines.append(f"no weights are proposed: {self.mixture['why']}")
        else:
            lines.append(
                f"proposed: the mean of the best {BEST} of {CANDIDATES:,} mixtures between those that were tried; "
                f"predicted difference {predicted['difference']:+.4f}, measured with seeds that the sweep did not use"
            )
        lines.append("a random half of the held-out documents chose the weights; the other half measured them")
        lines.append(f"{counted(len(self.mixture['points']), 'mixture')} with one run each, all with the same seed")
        return [*lines, *super().notes()]

    def pictures(self) -> dict[str, str]:
        """Return the pictures, as {name of the file: SVG}."""
        points = [(one["name"], one["bits_per_byte"], one["predicted"]) for one in self.mixture["points"]]
        said = "Bits per byte predicted by a regression on the other mixtures, against measured ones"
        found = {MIXTURES: standalone(agreement(points, NATURAL, "Measured bits per byte", said))}
        return found if self.weights is None else {PICTURES[0]: super().pictures()[PICTURES[0]], **found}


def facts(done: Sweep, read: int) -> dict[str, Any]:
    """Return the sweep as plain values, for JSON.

    - read: the tokens that each run reads.
    """
    natural = done.points[NATURAL]
    proposed = None if done.weights is None else dict(zip(natural.sources, done.weights.tolist(), strict=True))
    total = done.losses @ done.shares
    points = [
        {
            "name": name, "weights": dict(one.shares), "bits_per_byte": float(total[i]),
            "by_domain": dict(zip(done.domains, done.losses[i].tolist(), strict=True)),
            "predicted": float(done.found.unseen[i]),
        }
        for i, (name, one) in enumerate(done.points.items())
    ]  # fmt: skip
    sources = {}
    for name, one in natural.sources.items():
        of: dict[str, Any] = {NATURAL: natural.shares[name], PROPOSED: None if proposed is None else proposed[name]}
        epochs = {which: None if w is None else w * read / one.shards.n_tokens for which, w in of.items()}
        sources[name] = {**one.facts(), **of, "epochs": epochs}
    predicted = None
    if done.weights is not None:
        predicted = {NATURAL: done.predicted(done.natural), PROPOSED: done.predicted(done.weights)}
        predicted["difference"] = predicted[PROPOSED] - predicted[NATURAL]
    found = done.found
    of_fit = {"name": found.name, "r2": found.r2, "error": found.error, "tried": found.tried, "domains": done.domains}
    return {"sources": sources, "points": points, "regression": of_fit, "predicted": predicted, "why": done.why}
