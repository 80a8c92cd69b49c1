"""Try again, later each time, within one deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from kb.errors import EmbedderFailed
from kb.remote import Retriable

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0


@dataclass(frozen=True, slots=True)
class Retry:
    retries: int
    timeout_s: float  # for all tries of one call together
    first_pause_s: float = FIRST_PAUSE_S

    def run(self, call: Callable[[float], bytes]) -> bytes:
        """`call` gets the seconds that are left. Raises EmbedderFailed with the last reason."""
        deadline = time.monotonic() + self.timeout_s
        for attempt in range(self.retries + 1):
            left = deadline - time.monotonic()
            try:
                return call(max(left, 0.001))
            except Retriable as failure:
                last = failure
            pause = self.pause_s(attempt, last.after_s)
            if attempt == self.retries or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        tries = "once" if attempt == 0 else f"{attempt + 1} times"
        raise EmbedderFailed(f"{last} (tried {tries})", fix="check that the embedding server runs: kb doctor")

    def pause_s(self, attempt: int, asked_s: float | None) -> float:
        """Twice as long each time, jittered so that clients do not come back together; longer if the server says so."""
        pause: float = self.first_pause_s * 2**attempt * random.uniform(0.5, 1.0)
        return min(max(pause, asked_s or 0.0), LONGEST_PAUSE_S)
