"""What follows from an object that comes again window after window, such as a model's features, worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

MOST = 256

K = TypeVar("K")
T = TypeVar("T")


def recalled(function: Callable[[K], T]) -> Callable[[K], T]:
    """The function, which gives the same result again for the same object; neither may ever be changed.

    It goes by identity: ``functools.lru_cache`` asks a thousand features for their hashes, and that takes longer than
    most of what follows from them.
    """
    known: dict[int, tuple[K, T]] = {}  # an object that is in here is alive, so that no other has its id

    @wraps(function)
    def recall(key: K) -> T:
        found = known.get(id(key))
        if found is None:
            if len(known) >= MOST:
                known.clear()
            found = known[id(key)] = key, function(key)
        return found[1]

    return recall
