"""What the code of docs/model.md needs: that its tables name what there is."""

from pathlib import Path

from dataprep.inference.architectures import PUBLISHED
from dataprep.train import PRESETS
from dataprep.train.shape import BY_LAYER, PARTS

PAGE = Path(__file__).parents[3] / "docs" / "model.md"


def check(here, names):
    """Every part, every setting that may differ by layer, each type of an export and each preset is on the page."""
    text = PAGE.read_text("utf-8")
    for part, table in PARTS.items():
        assert f"`{part}`" in text
        assert {name for name in table if f"`{name}`" not in text} <= {"none", "pre"}
    assert all(f"`{name}` *" in text for name in BY_LAYER if name != "rope_factor")
    assert all(f"| `{one.model_type}` |" in text for one in PUBLISHED)
    assert all(f"`{name}`" in text or "phase" in name for name in PRESETS if "-" in name and name != "gpt2-124m")
