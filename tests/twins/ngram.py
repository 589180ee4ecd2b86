"""Twin of the n-gram models (`ngram`): modified Kneser-Ney by definition."""

from __future__ import annotations

import math
from collections import Counter


def kneser_ney(lines, order, prune, fallback):
    """Modified Kneser-Ney by definition: {n-gram: (log10 probability, log10 back-off)}, None without discounts."""
    actual, before = [Counter() for _ in range(order + 1)], [{} for _ in range(order + 1)]
    for line in lines:
        words = ("<s>", *line.split(), "</s>")
        for n in range(1, order + 1):
            for i in range(len(words) - n + 1):
                gram = words[i : i + n]
                actual[n][gram] += gram != ("<s>",)
                before[n].setdefault(gram, set()).update(words[i - 1 : i])
    actual[1][("<unk>",)] = actual[1][("<s>",)] = 0

    def adjust(n, gram):
        raw = n == order or (gram[0] == "<s>" and n > 1)
        return actual[n][gram] if raw else len(before[n].get(gram, ()))

    adjusted = [{g: adjust(n, g) for g in actual[n]} for n in range(order + 1)]
    model, lower = {}, {}
    for n in range(1, order + 1):
        t = Counter(adjusted[n].values())
        off = fallback
        if t[1] and t[2] and t[3]:
            found = [j - (j + 1) * t[1] / (t[1] + 2 * t[2]) * t[j + 1] / t[j] for j in (1, 2, 3)]
            off = found if all(0 <= d <= j for j, d in enumerate(found, 1)) else fallback
        if off is None:
            return None
        off = (0, *off)
        kept = {g for g in actual[n] if n == 1 or actual[n][g] > prune[n - 1]}
        total, left = Counter(), Counter()
        for g, count in adjusted[n].items():
            total[g[:-1]] += count
            left[g[:-1]] += off[min(count, 3)] if g in kept else count
        now = {}
        for g in kept:
            below = lower[g[1:]] if n > 1 else 1 / (len(actual[1]) - 1)
            rest = left[g[:-1]] / total[g[:-1]] * below
            now[g] = (adjusted[n][g] - off[min(adjusted[n][g], 3)]) / total[g[:-1]] + rest
        lower = now | ({("<s>",): 1.0} if n == 1 else {})
        for context in total if n > 1 else ():
            if context in model:
                share = left[context] / total[context]
                model[context] = (model[context][0], math.log10(share) if share else -99)
        model |= {g: (math.log10(p) if p else -99, 0.0) for g, p in lower.items()}
    return model
