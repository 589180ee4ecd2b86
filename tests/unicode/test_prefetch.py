"""A number that is loaded before it is needed is the same, and so are those beside it."""

import numpy as np

from dataprep.unicode.kernel import kernel
from dataprep.unicode.prefetch import prefetch


@kernel
def total(numbers, places):
    found = np.uint64(0)
    for place in places:
        prefetch(numbers, place)
    for place in places:
        if place < len(numbers):
            found += numbers[place]
    return found


def test_what_is_loaded_early_is_unchanged():
    """Also places that the array does not have."""
    numbers = np.arange(1000, dtype=np.uint64)
    assert total(numbers, np.array([3, 999, 3, 1 << 40, 17], np.uint64)) == 3 + 999 + 3 + 17
    assert numbers.tolist() == list(range(1000))
