"""The pictures of an experiment: where marks are, and what an SVG file has."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from dataprep.report.difference_charts import Mark, against, intervals, standalone


def test_an_interval_is_drawn_from_its_low_to_its_high_bound() -> None:
    """The dot of the mean is between the ends, in proportion, and 0 has a line of its own; names are escaped."""
    rows = [Mark("a<b", -0.1, -0.3, 0.1, [-0.2, 0.0], "none"), Mark("c", 0.4, 0.3, 0.5, [0.4], "dropped")]
    root = ET.fromstring(standalone(intervals(rows, "bits", "said")))  # noqa: S314 - ours
    space = "{http://www.w3.org/2000/svg}"
    spans = [e for e in root.iter(f"{space}line") if "span" in e.get("class")]
    means = [e for e in root.iter(f"{space}circle") if "seed" not in e.get("class")]
    [zero] = [float(e.get("x1")) for e in root.iter(f"{space}line") if e.get("class") == "threshold"]
    unit = (float(spans[1].get("x2")) - float(spans[1].get("x1"))) / 0.2
    for span, mean, row in zip(spans, means, rows, strict=True):
        for at, value in ((span.get("x1"), row.low), (span.get("x2"), row.high), (mean.get("cx"), row.mean)):
            assert float(at) == pytest.approx(zero + unit * value, abs=0.2)
    assert len([e for e in root.iter(f"{space}circle") if "seed" in e.get("class")]) == 3
    assert "a<b" in [e.text for e in root.iter(f"{space}text")]


def test_dots_are_in_the_order_of_their_values() -> None:
    """More tokens are further right, and a higher loss is higher."""
    chart = against([("few", 1e6, 3.0), ("many", 3e6, 2.5)], "Tokens", "said")
    dots = re.findall(r'class="dot" cx="([\d.]+)" cy="([\d.]+)"', chart)
    (x1, y1), (x2, y2) = ((float(x), float(y)) for x, y in dots)
    assert x1 < x2
    assert y1 < y2, "SVG counts from the top"
    ET.fromstring(standalone(chart))  # noqa: S314
