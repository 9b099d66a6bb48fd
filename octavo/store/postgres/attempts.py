"""When a transaction that met another one is tried again."""

MOST_ATTEMPTS = 12
FIRST_PAUSE = 0.002
LONGEST_PAUSE = 0.25


def pause_before(attempt: int, chance: float) -> float | None:
    """Answer the seconds before the ``attempt``-th try, 2 and on; None when there is none.

    The pause lies anywhere up to a bound that doubles: those that met each other must not meet
    again. ``chance`` is a random number within [0, 1).
    """
    if attempt > MOST_ATTEMPTS:
        return None
    bound: float = FIRST_PAUSE * 2 ** (attempt - 2)
    return chance * min(bound, LONGEST_PAUSE)
