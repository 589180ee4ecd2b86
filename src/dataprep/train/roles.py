"""Roles of a model's parameters (matrix, embedding, norm, scalar), which determine weight decay."""

from __future__ import annotations

from torch import nn

ROLES = ("matrix", "embedding", "norm", "scalar")
"""`matrix` maps vectors to vectors, `embedding` has a row per id, `norm` is a gain per channel, `scalar` the rest."""


def roles(model: nn.Module) -> dict[str, str]:
    """Return {name of a parameter: its role}, for all parameters; a role is "matrix", "embedding", "norm" or "scalar".

    The role of a parameter is the attribute `role` of the module that owns the parameter, or, if the module has an
    attribute `roles` (a dict), the entry for the parameter's name.

    Raises TypeError if a module with parameters of its own has no role.
    """
    found: dict[str, str] = {}
    for prefix, module in model.named_modules():
        for name, _ in module.named_parameters(prefix, recurse=False):
            role = getattr(module, "roles", {}).get(name.rpartition(".")[2], getattr(module, "role", None))
            if role not in ROLES:
                msg = f"{type(module).__name__}.role is {role!r} and must be one of {', '.join(ROLES)}"
                raise TypeError(msg)
            found.setdefault(name, role)
    return found
