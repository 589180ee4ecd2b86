"""The back end with which torch computes attention: chosen by device and model, or forced, and reported.

torch has four back ends for `scaled_dot_product_attention`: "cudnn" and "flash" (for 16-bit numbers), "efficient", and
"math", which stores every score and works on every device. Rows with documents or prefixes on CUDA with Triton use
FlexAttention instead ("flex"), which skips blocks without a visible pair (see `masks`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from dataprep.errors import PlanError
from dataprep.train.config import BACK_ENDS, TrainConfig
from dataprep.train.device import HAS_TRITON, pick_dtype

_BACK_ENDS = {
    "cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH,
}  # fmt: skip
_HOPPER, _AMPERE = (9, 0), (8, 0)  # compute capabilities


class Case(NamedTuple):
    """The properties of an attention call that a back end must support.

    Attributes:
        device: the kind of device, such as "cuda".
        capability: the compute capability of the GPU; (0, 0) for other devices.
        dtype: the type of the activations.
        d_head: width of a head.
        masked: whether rows have documents or prefixes.
    """

    device: str
    capability: tuple[int, int]
    dtype: torch.dtype
    d_head: int
    masked: bool


def ranked(case: Case) -> list[str]:
    """Return the back ends that can compute a case, the fastest first; torch leaves out those that it lacks.

    cuDNN is the fastest on Hopper and later GPUs (compute capability 9), FlashAttention 2 on earlier GPUs.
    """
    if case.device != "cuda":
        return ["flash", "math"] if case.device == "cpu" else []
    half, newer = case.dtype != torch.float32, case.capability >= _AMPERE
    can = {
        "cudnn": half and newer and case.d_head % 8 == 0 and case.d_head <= 128,
        "flash": half and newer and case.d_head % 8 == 0 and case.d_head <= 256 and not case.masked,
    }
    fast = ["cudnn", "flash"] if case.capability >= _HOPPER else ["flash", "cudnn"]
    return [*(name for name in fast if can[name]), "efficient", "math"]


@contextlib.contextmanager
def chosen(config: TrainConfig, device: torch.device) -> Iterator[str | None]:
    """Yield the name of the back end that attention uses in the `with` block; None if torch does not state it.

    It is that of `config.attention`, or with "auto" the first of `ranked` that torch has. Raises PlanError if torch
    cannot compute the model's attention with the one that the config names.
    """
    case, forced = _case(config, device), config.attention != "auto"
    if case.masked and device.type == "cuda" and HAS_TRITON and not config.model.attention_dropout:
        if forced:
            msg = (
                f"attention={config.attention!r} must be 'auto' here: rows with documents or prefixes use "
                "FlexAttention on this GPU; leave it out"
            )
            raise PlanError(msg)
        yield "flex"
        return
    if forced and _taken([config.attention], config, case, device) is None:
        can = [name for name in _BACK_ENDS if _taken([name], config, case, device)]
        msg = (
            f"attention={config.attention!r} must support {str(case.dtype)[6:]} and "
            f"head dimension {case.d_head} on {device}; it can be {', '.join(['auto', *can])}"
        )
        raise PlanError(msg)
    order = [config.attention] if forced else ranked(case)
    with _only(order):
        yield _taken(order, config, case, device)


def _case(config: TrainConfig, device: torch.device) -> Case:
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else (0, 0)
    dtype = pick_dtype(config.dtype, device)
    return Case(device.type, capability, dtype, config.model.d_head, config.has_masks)


def _only(names: Sequence[str]) -> contextlib.AbstractContextManager[None]:
    """Allow only these back ends in a `with` block, the first before the others; [] leaves torch's own."""
    backends = [_BACK_ENDS[name] for name in names]
    return sdpa_kernel(backends, set_priority=True) if backends else contextlib.nullcontext()


def _taken(names: Sequence[str], config: TrainConfig, case: Case, device: torch.device) -> str | None:
    """Return the name of the back end that torch selects for the tensors of a training step, or None."""
    if device.type not in ("cpu", "cuda") or not names:
        return None
    model, t, choice = config.model, config.model.context, torch._fused_sdp_choice  # noqa: SLF001 - nothing else tells
    q, k = (
        torch.zeros(1, heads, t, case.d_head, device=device, dtype=case.dtype, requires_grad=True)
        for heads in (model.n_heads, model.kv_heads)
    )
    mask = torch.ones(1, 1, t, t, dtype=torch.bool, device=device) if case.masked else None
    if any(layer.position.way == "scored" and layer.position.n_weights(layer) for layer, _ in model.kinds()):
        mask = torch.zeros(1, 1, t, t, dtype=case.dtype, device=device, requires_grad=True)
    with _only(names):
        try:
            number = choice(q, k, k, mask, model.attention_dropout, mask is None, enable_gqa=q.shape != k.shape)
        except RuntimeError:  # no back end is left
            return None
    return next((name for name, backend in _BACK_ENDS.items() if backend.value == number), None)


assert ("auto", *_BACK_ENDS) == BACK_ENDS, "the setting has other names"
