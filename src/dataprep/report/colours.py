"""Colours of drop reasons: a reason has the same colour in every report.

Common reasons have clearly different hues; the hue of any other reason is a hash of its name. The hue is never near the
blue of kept documents. The same reason of two stages has one hue and may differ in lightness.
"""

from __future__ import annotations

from zlib import crc32

FIRST, SPAN = 285, 260  # degrees of OKLCH, violet to green; "kept" is at 231
LIGHTNESSES = 3
HUES = {  # reports of earlier runs show these, so a line may be added, and none changed
    "duplicate": 45, "near_duplicate": 85, "semantic_duplicate": 110, "seen_before": 20, "too_short_after_cuts": 345,
    "other_language": 150, "too_few_words": 305, "too_few_sentences": 325, "removed_words": 130, "empty": 65,
    "curly_bracket": 5, "lorem_ipsum": 120, "few_stop_words": 285, "bullet_lines": 185,
}  # fmt: skip


def style_of(stage: str, reason: str) -> str:
    """Return the CSS variables of a drop reason's colour: --h, the hue in degrees, and --v, the lightness (0 to 2)."""
    hue = HUES.get(reason, (FIRST + crc32(reason.encode()) % SPAN) % 360)
    return f"--h:{hue};--v:{crc32(stage.encode()) % LIGHTNESSES}"
