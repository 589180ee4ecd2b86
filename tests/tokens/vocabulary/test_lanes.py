"""Numbers in vectors against lists."""

import numpy as np
import pytest

from dataprep.tokens.vocabulary.lanes import LANES, WIDTHS, close_gap, lowest_lane
from dataprep.unicode.kernel import kernel
from twins.lanes import close_gap as plain_gap
from twins.lanes import lowest_lane as plain_lowest


@kernel
def lowest(lanes, i, n):
    return lowest_lane(lanes, np.uint64(i), np.uint64(n))


@kernel
def closed(lanes, i, n, at, here, before):
    close_gap(lanes, np.uint64(i), np.uint64(n), np.uint32(at), np.uint32(here), np.uint32(before))


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 32, 33, 63, 64])
def test_lanes_are_lists(n):
    """Of any number, at any index, with equal numbers, also beyond what fits into 31 bits."""
    width, rng = next(w for w in WIDTHS if w >= n), np.random.default_rng(n)
    for most in (3, 1 << 32):
        for i in (0, 5, LANES):
            lanes = rng.integers(0, most, 2 * LANES, dtype=np.uint32)
            lanes[i + n : i + width] = most - 1
            own = lanes[i : i + width].tolist()
            assert lowest(lanes, i, n) == plain_lowest(own)
            for at in range(n - 1):
                made, here, before = lanes.copy(), at + 7, at + 9
                closed(made, i, n, at, here, before)
                assert made[i : i + width].tolist() == plain_gap(own, at, here, before)
                assert made[:i].tolist() == lanes[:i].tolist()
                assert made[i + width :].tolist() == lanes[i + width :].tolist()
