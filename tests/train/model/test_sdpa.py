from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from dataprep.errors import PlanError  # noqa: E402
from dataprep.train import train  # noqa: E402
from dataprep.train.metrics import read  # noqa: E402
from dataprep.train.model import masks, sdpa  # noqa: E402

F32, BF16 = torch.float32, torch.bfloat16
SLOW = ["efficient", "math"]


@pytest.mark.parametrize(
    ("case", "names"),
    [
        (("cuda", (9, 0), BF16, 128, False), ["cudnn", "flash", *SLOW]),  # H100, H200
        (("cuda", (9, 0), BF16, 64, False), ["cudnn", "flash", *SLOW]),
        (("cuda", (9, 0), BF16, 128, True), ["cudnn", *SLOW]),  # flash takes no dense mask
        (("cuda", (9, 0), BF16, 192, False), ["flash", *SLOW]),  # cuDNN's gradient ends at 128
        (("cuda", (9, 0), BF16, 320, False), SLOW),
        (("cuda", (9, 0), BF16, 20, False), SLOW),  # not a multiple of 8
        (("cuda", (8, 0), BF16, 128, False), ["flash", "cudnn", *SLOW]),  # A100
        (("cuda", (7, 5), BF16, 64, False), SLOW),
        (("cuda", (9, 0), F32, 128, False), SLOW),
        (("cpu", (0, 0), F32, 64, True), ["flash", "math"]),
        (("mps", (0, 0), F32, 64, False), []),
    ],
    ids=str,
)
def test_back_ends_by_rank(case, names):
    """What the card, the number type, the width of heads and the mask allow, the fastest first."""
    assert sdpa.ranked(sdpa.Case(*case)) == names


def test_a_run_says_its_back_end(shards, config, tmp_path, capsys):
    """In its first line and in its metrics; another back end has the same losses, apart from rounding."""
    losses = {}
    for name, said in (("auto", "flash"), ("math", "math")):
        train(shards, out=tmp_path / name, config=replace(config, attention=name, layout="bestfit", steps=3))
        assert f"float32, {said} attention" in capsys.readouterr().out
        rows = [row for row in read(tmp_path / name / "metrics.jsonl") if "loss" in row]
        assert {row["attention"] for row in rows} == {said}
        assert min(row["peak_memory"] for row in rows) > 1 << 20
        losses[name] = [row["loss"] for row in rows]
    assert losses["auto"] == pytest.approx(losses["math"], rel=1e-4)
    assert torch.backends.cuda.flash_sdp_enabled()  # as before the run


@pytest.mark.parametrize("name", ["cudnn", "efficient"])
def test_back_ends_of_other_devices_are_refused(shards, config, tmp_path, name):
    """Before any work, with those that this device has; a name that torch does not have, too."""
    can = rf"attention='{name}' must support float32 and head dimension 8 on cpu; it can be auto, flash, math"
    with pytest.raises(PlanError, match=can):
        train(shards, out=tmp_path / "run", config=replace(config, attention=name), quiet=True)
    assert not list(tmp_path.glob("run/*.pt"))
    with pytest.raises(PlanError, match="attention='fast' must be one of auto, cudnn, flash, efficient, math"):
        replace(config, attention="fast")


def test_masked_rows_use_flex_on_cuda(config, monkeypatch):
    """With Triton, whose masks have no back ends: to force one is refused, and auto says so."""
    case = sdpa.Case("cuda", (9, 0), BF16, 128, True)
    monkeypatch.setattr(sdpa, "_case", lambda *_: case)
    monkeypatch.setattr(sdpa, "HAS_TRITON", True)
    with sdpa.chosen(config, torch.device("cuda")) as name:
        assert name == "flex"
    with (
        pytest.raises(PlanError, match="attention='flash' must be 'auto' here: .* FlexAttention"),
        sdpa.chosen(replace(config, attention="flash"), torch.device("cuda")),
    ):
        pass


def test_flex_and_its_masks_are_compiled(monkeypatch):
    """Both functions, once: uncompiled, a mask takes rows x context x context bytes on the way."""
    monkeypatch.setattr(masks, "HAS_TRITON", True)
    monkeypatch.setattr(torch, "compile", lambda f, **_: f"compiled {f.__name__}")
    masks._compiled.cache_clear()
    flex = (masks.flex_attention, masks.create_block_mask)
    assert [masks._fast(f) for f in flex] == ["compiled flex_attention", "compiled create_block_mask"]
    masks._compiled.cache_clear()
