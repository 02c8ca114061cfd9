"""How a search spends its steps or its time, and how hot it is meanwhile."""

import threading
import time
from collections.abc import Callable

# The temperature falls geometrically, by this factor in all; the last steps are made without any.
_FALL = 100.0
_QUENCHED = 0.05
# So many stages, unless they became too short to be worth dividing the groups anew.
_STAGES = 100
_STEPS_A_RECORD = 30
# A region is not annealed for longer at a time: it cannot be interrupted.
_STEPS_A_CALL = 1 << 20
# What the first stage tries of each record, to learn how fast this machine is.
_PILOT = 20

# What an effort is: so many steps a record, but no more than so many in all and some a record.
# A core makes about ten million steps a second.
EFFORTS = {
    "quick": (1_000, 2_000_000, 20),
    "balanced": (10_000, 16_000_000, 100),
    "best": (200_000, 400_000_000, 1_000),
}
# Few records are soon at their best: so many steps, and so many a record for each there is.
_LEAST = 30_000
_SQUARE = 25


def afforded(n: int, effort: str) -> int:
    """How many steps an effort is for n records."""
    each, base, more = EFFORTS[effort]
    return min(max(_LEAST, _SQUARE * n * n), each * n, base + more * n)


class Budget:
    """So many steps, or so many seconds from now, for n records."""

    def __init__(self, n: int, steps: int | None, seconds: float | None) -> None:
        self._n = n
        self._steps = steps
        self._seconds = seconds
        self._begun = time.monotonic()
        self._taken = 0
        self._stopped = False
        self._busy = threading.Lock()

    def spent(self) -> bool:
        """Nothing is left for another stage."""
        return self.over() or (self._steps is not None and self._taken >= self._steps)

    def over(self) -> bool:
        """Stop at once."""
        late = self._seconds is not None and self._elapsed() >= self._seconds
        return self._stopped or late

    def stop(self) -> None:
        """Have the other thread stop, and wait until it has."""
        self._stopped = True
        with self._busy:
            pass

    def share(self) -> float:
        """How much of the budget is spent, 0 to 1."""
        if self._steps is not None:
            return min(1.0, self._taken / max(1, self._steps))
        return min(1.0, self._elapsed() / max(self._seconds or 0.0, 1e-9))

    def stage(self, largest: int) -> tuple[int, float, float]:
        """Steps of the next stage, and its temperature at the start and at the end.

        largest: how many records the largest region has.
        """
        total = self._total()
        even = max(total // _STAGES, min(_STEPS_A_RECORD * self._n, total // 4))
        even = max(1, min(even, _STEPS_A_CALL * self._n // largest))
        if self._steps is not None:
            even = min(even, self._steps - self._taken)
        share = self.share()
        return even, self._heat(share, total), self._heat(share + even / total, total)

    def take(self, steps: int) -> None:
        """Note that a stage is over."""
        self._taken += steps

    def patient(self, work: Callable[[], None]) -> Callable[[], None]:
        """This work, stopped on both threads by an interruption from the keyboard."""

        def run() -> None:
            try:
                work()
            except KeyboardInterrupt:
                self._stopped = True

        return run

    def guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        """This work, such that `stop` waits for it."""

        def run() -> None:
            with self._busy:
                work()

        return run

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _total(self) -> int:
        """Steps in all, as far as one can tell."""
        if self._steps is not None:
            return self._steps
        if self._taken == 0:
            return 4 * _PILOT * self._n
        return max(1, int(self._taken * (self._seconds or 0.0) / self._elapsed()))

    def _heat(self, share: float, total: int) -> float:
        """The temperature after a share of so many steps in all."""
        left = 1.0 - share / (1.0 - _QUENCHED)
        if left <= 0.0:
            return 0.0
        # Few steps cannot put together what heat has broken up: they start colder.
        highest = min(1.0, max(0.3, total / (2000.0 * self._n)))
        # Rounded, so that every machine's power gives the same.
        return round(highest * _FALL ** (left - 1.0) * 2.0**30) / 2.0**30
