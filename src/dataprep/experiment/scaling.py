"""The result of an isoFLOP sweep: its tables, as text, Markdown and JSON, and its picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dataprep.core.output import owned
from dataprep.errors import counted
from dataprep.report.difference_charts import standalone
from dataprep.report.scaling_charts import Parabola, parabolas
from dataprep.shown.notebook import block
from dataprep.store import files

from .isoflop import FEWEST_BUDGETS, Fit
from .tables import aligned, finite, markdown

COLUMNS = (
    "budget (FLOPs)", "best parameters", "95 % interval", "tokens", "95 % interval", "bits per byte", "95 % interval"
)  # fmt: skip
OF_RUNS = ("budget (FLOPs)", "width", "layers", "parameters", "tokens", "passes", "seed", "bits per byte", "seconds")
JSON, MARKDOWN, PICTURE = "scaling.json", "scaling.md", "isoflop.svg"
CURVE = 40  # points of a parabola


@dataclass(frozen=True)
class Scaling:
    """The result of `scaling`: the best model size at each budget of operations, and predictions for larger budgets.

    Numbers with an interval are [number, lower bound, upper bound].

    Attributes:
        folder: the folder with scaling.json, scaling.md and isoflop.svg.
        minima: for each budget, the best number of parameters, its tokens and its loss in bits per byte; or `why_not`,
            a sentence that states why the runs do not determine them.
        runs: for each run, its budget, size, tokens and loss.
        exponents: {"parameters": a, "tokens": b} of their growth with the budget C, as C^a and C^b; None if fewer than
            two budgets have a minimum.
        predictions: the best model at each larger budget that was asked for.
        about: facts about the sweep: the shards, the settings, and `noise`, the standard deviation of a run's loss from
            the parabola of its budget.
    """

    folder: str
    minima: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    exponents: dict[str, Any]
    predictions: list[dict[str, Any]]
    about: dict[str, Any]

    _repr_html_ = block

    @classmethod
    def of(
        cls, folder: str, found: Fit, runs: Sequence[dict[str, Any]], at: Sequence[float], about: dict[str, Any]
    ) -> Scaling:
        """Return the result of a fit.

        Args:
            folder: the folder of the result.
            found: the fit.
            runs: the facts of each run.
            at: the budgets for which the best model is predicted.
            about: facts about the sweep.
        """
        predicted = [one for budget in at if (one := found.predict(budget)) is not None]
        exponents = {"parameters": found.parameters_exponent, "tokens": found.tokens_exponent}
        noise = {"noise": found.noise, "free": found.free}
        return cls(
            folder, finite([asdict(one) for one in found.minima]), list(runs), finite(exponents),
            finite([asdict(one) for one in predicted]), finite(about | {"at": list(map(float, at))} | noise),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        return {"minima": self.minima, "runs": self.runs, "exponents": self.exponents,
                "predictions": self.predictions, "about": self.about}  # fmt: skip

    def table(self) -> list[list[str]]:
        """Return the rows of the table, one per budget and prediction, as texts; its columns are `COLUMNS`."""
        rows = []
        for one in (*self.minima, *self.predictions):
            cells = [f"{one['budget']:g}" + ("" if "why_not" in one else " (predicted)")]
            for name, form in (("parameters", ",.0f"), ("tokens", ",.0f"), ("loss", ".4f")):
                value, low, high = one[name] or (None, None, None)
                cells += ["", ""] if value is None else [f"{value:{form}}", f"{low:{form}} to {high:{form}}"]
            rows.append(cells)
        return rows

    def run_rows(self) -> list[list[str]]:
        """Return the rows of the table of runs, as texts; its columns are `OF_RUNS`."""
        return [
            [f"{run['budget']:g}", f"{run['width']}", f"{run['layers']}", f"{run['parameters']:,}",
             f"{run['tokens']:,}", f"{run['epochs']:.2g}", f"{run['seed']}", f"{run['bits_per_byte']:.4f}",
             f"{run['seconds']:,.0f}"]
            for run in self.runs
        ]  # fmt: skip

    def notes(self) -> list[str]:
        """Return sentences about the minima that are missing, the exponents, and the extrapolation."""
        lines = [f"budget {one['budget']:g}: {one['why_not']}" for one in self.minima if one["why_not"]]
        largest = max((one["budget"] for one in self.minima if not one["why_not"]), default=None)
        n = sum(not one["why_not"] for one in self.minima)
        for name, of in self.exponents.items():
            if of is not None:
                lines.append(f"the best number of {name} grows as C^{of[0]:.2f} ({of[1]:.2f} to {of[2]:.2f}), "
                             f"C being the budget; {n} budgets")  # fmt: skip
        if n < 2:
            lines.append(f"exponents and predictions need two budgets with a minimum, and there is {n or 'none'}")
        elif self.about["at"] and n < FEWEST_BUDGETS:
            lines.append(f"a predicted loss needs {FEWEST_BUDGETS} budgets with a minimum, and there are {n}")
        if n > 1 and largest is not None:
            lines += [f"{one['budget']:g} is {one['budget'] / largest:.3g} times the largest of these budgets"
                      for one in self.predictions if one["budget"] > largest]  # fmt: skip
        noise, free = self.about["noise"], self.about["free"]
        lines.append(f"a run's loss is {noise:.4f} bits per byte from the parabola of its budget (standard deviation, "
                     f"{counted(free, 'degree')} of freedom); intervals state this noise only, and not whether the "
                     "curves hold outside the budgets")  # fmt: skip
        return lines

    def __str__(self) -> str:
        return "\n".join([*aligned([list(COLUMNS), *self.table()]), *self.notes()])

    def markdown(self) -> str:
        """Return the tables and notes as Markdown."""
        tables = [markdown([list(COLUMNS), *self.table()]), markdown([list(OF_RUNS), *self.run_rows()])]
        return "\n".join([*tables, "".join(f"- {line}\n" for line in self.notes())])

    def picture(self) -> str:
        """Return the losses against the number of parameters, with the parabola and minimum of each budget, as SVG."""
        curves = []
        for one in self.minima:
            points = [(float(r["parameters"]), r["bits_per_byte"]) for r in self.runs if r["budget"] == one["budget"]]
            sizes = np.log([parameters for parameters, _ in points])
            x = np.linspace(sizes.min(), sizes.max(), CURVE)
            curve = zip(np.exp(x).tolist(), np.polyval(one["coefficients"], x).tolist(), strict=True)
            lowest = None if one["why_not"] else (one["parameters"], one["loss"][0])
            curves.append(Parabola(f"{one['budget']:g}", points, list(curve), lowest))
        said = "Bits per byte against the number of parameters, for each budget of operations, with the best sizes"
        return parabolas(curves, "Parameters", said)

    def save(self) -> None:
        """Write the JSON, the Markdown and the picture to the folder, after `check`."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1)
        content = {JSON: f"{text}\n", MARKDOWN: self.markdown(), PICTURE: standalone(self.picture())}
        check(self.folder)
        for name, value in content.items():
            files.write_bytes(files.join(self.folder, name), value.encode())


def check(folder: str) -> None:
    """Raise StaleOutput if a file in the folder has the name of a result, but is not one that dataprep wrote."""
    for name, begins in ((JSON, '{"minima"'), (MARKDOWN, "|budget(flops)|"), (PICTURE, "<svgxmlns")):
        owned.check_file(files.join(folder, name), "the result of a sweep", begins)
