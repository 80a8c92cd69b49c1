"""A token bucket: allows short bursts, and on average no more than a given rate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class TokenBucket:
    """Holds up to ``capacity`` tokens and gains ``per_second`` of them every second."""

    capacity: float
    per_second: float
    clock: Callable[[], float] = time.monotonic
    _tokens: float = field(init=False)
    _updated: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = self.capacity
        self._updated = self.clock()

    def allow(self, cost: float = 1.0) -> bool:
        """Take ``cost`` tokens if they are there; False means: try again later."""
        self._refill()
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def wait_time(self, cost: float = 1.0) -> float:
        """Seconds until ``cost`` tokens will be there."""
        self._refill()
        return max(0.0, (cost - self._tokens) / self.per_second)

    def _refill(self) -> None:
        now = self.clock()
        self._tokens = min(self.capacity, self._tokens + (now - self._updated) * self.per_second)
        self._updated = now
