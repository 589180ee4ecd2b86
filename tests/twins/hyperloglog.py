"""Twin of `dedup/membership/hyperloglog`: ranks are read off binary digits."""

from __future__ import annotations


def observe(keys: list[int], precision: int) -> list[int]:
    """Return the registers: of the keys whose first bits choose it, the longest run of zeros after them, plus one."""
    registers = [0] * (1 << precision)
    for key in keys:
        digits = f"{key:064b}"
        register, rest = int(digits[:precision], 2), digits[precision:]
        registers[register] = max(registers[register], len(rest) - len(rest.lstrip("0")) + 1)
    return registers
