"""Twin of `tokens/vocabulary/lanes.py`: lists instead of vectors."""


def lowest_lane(numbers):
    """Return the index of the smallest number, the first of equal ones."""
    return numbers.index(min(numbers))


def close_gap(numbers, at, here, before):
    """Return the numbers without the one after `at`, the last one twice, with `here` at `at` and `before` before it."""
    moved = [*numbers[: at + 1], *numbers[at + 2 :], numbers[-1]]
    moved[at] = here
    if at:
        moved[at - 1] = before
    return moved
