"""How a search spends its steps or its time, and how hot it is meanwhile.

In the first part all records cool down together. The second part, where there are steps enough,
starts again and again from the best groups: small regions are heated and cooled within one stage,
which puts right what froze too early.
"""

import math
import time

# The temperature falls geometrically, by this factor, by less where steps are few: the coldest of
# them would find little. The last steps are made without any.
_FALL, _FALL_OF_FEW = 100.0, 10.0
# Fewer steps a record are few. It starts from 1 if there are more, and never below this; steps that
# are aimed put together more of what heat has broken up: half as many suffice.
_FEW = 60
_FEW_IF_AIMED = 30
_LOWEST_HEAT = 0.3
_QUENCHED = 0.05
# So many stages, unless they became too short to be worth dividing the groups anew; and of few
# steps at least so many stages, unless these became shorter still. Aimed steps have so many.
_STAGES, _FEWEST_STAGES, _STAGES_IF_AIMED = 100, 8, 6
_STEPS_A_RECORD, _FEWEST_STEPS_A_RECORD = 30, 5
# A region is not annealed for longer at a time: it cannot be interrupted.
_STEPS_A_CALL = 1 << 20
# What the first stage tries of each record, to learn how fast this machine is.
_PILOT = 20
# Steps a second, before it is known: a careful guess.
_SPEED = 5e6
# The first part's share; the steps a record from which on there is a second; and its stages.
_FIRST_PART = 0.5
_TWO_PARTS_FROM = 2000
_STEPS_A_RECORD_LOCALLY = 500
_LOCAL_HEAT = 0.5

# Steps are aimed if there are fewer than so many a record, and so many records: few
# records are searched for long soon enough.
_AIMED_BELOW = 200
_AIMED_FROM = 10_000

# What an effort is: so many steps a record, but no more than so many in all and some a record; and
# no more than so many a record for each there is, for few records are soon at their best.
# A core makes five to ten million steps a second.
EFFORTS = {
    "brief": (50, 130_000, 37, 25),
    "quick": (1_000, 2_000_000, 60, 25),
    "balanced": (10_000, 16_000_000, 100, 25),
    "best": (200_000, 400_000_000, 1_000, 250),
}
_LEAST = 30_000


def afforded(n: int, effort: str) -> int:
    """How many steps an effort is for n records."""
    each, base, more, square = EFFORTS[effort]
    return min(max(_LEAST, square * n * n), each * n, base + more * n)


class Budget:
    """So many steps, or else so many seconds from now, for n records.

    warm: the groups have been annealed before; there is the second part only.
    can_aim: each step can be chosen among several.
    """

    def __init__(
        self,
        n: int,
        steps: int | None,
        seconds: float = math.inf,
        warm: bool = False,
        can_aim: bool = False,
    ) -> None:
        self._n = n
        self._warm = warm
        self._can_aim = can_aim
        self._steps = steps
        self._seconds = seconds
        self._begun = time.monotonic()
        self._taken = 0

    def spent(self) -> bool:
        """Nothing is left for another stage."""
        return self.over() or (self._steps is not None and self._taken >= self._steps)

    def over(self) -> bool:
        """Stop at once."""
        return self._elapsed() >= self._seconds

    def share(self) -> float:
        """How much of the budget is spent, 0 to 1."""
        if self._steps is not None:
            return min(1.0, self._taken / max(1, self._steps))
        return min(1.0, self._elapsed() / max(self._seconds, 1e-9))

    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._seconds - self._elapsed())

    def each(self) -> float:
        """About how many steps there will be for each record."""
        steps = _SPEED * self._seconds if self._steps is None else self._steps
        return steps / self._n

    def aims(self) -> bool:
        """There are so few steps for so many records that each is to be chosen among several."""
        return self._can_aim and self._n > _AIMED_FROM and self.each() < _AIMED_BELOW

    def few(self) -> bool:
        """There are so few steps that only what comes of the last ones is worth looking at."""
        return self._steps is not None and self._is_short(self._steps)

    def speed(self) -> float:
        """Steps a second so far."""
        return self._taken / max(self._elapsed(), 1e-9)

    def local(self) -> bool:
        """The next stage is one of the second part."""
        if self._warm:
            return True
        return self.share() >= _FIRST_PART and self._two_parts(self._total())

    def stage(self, regions: int, local: bool) -> tuple[int, float, float]:
        """Steps of the next stage in so many regions, its temperature at the start and the end."""
        total = self._total()
        if local:
            steps = _STEPS_A_RECORD_LOCALLY * self._n
        else:
            few = max(total // _FEWEST_STAGES, min(_FEWEST_STEPS_A_RECORD * self._n, total // 4))
            if self.aims():
                few = -(-total // _STAGES_IF_AIMED)
            steps = max(total // _STAGES, min(_STEPS_A_RECORD * self._n, few))
        steps = max(1, min(steps, _STEPS_A_CALL * regions))
        if self._steps is not None:
            steps = min(steps, self._steps - self._taken)
        if local:
            return steps, _LOCAL_HEAT, 0.0
        share = self.share()
        return steps, self._heat(share, total), self._heat(share + steps / total, total)

    def take(self, steps: int) -> None:
        """Note that a stage is over."""
        self._taken += steps

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun

    def _total(self) -> int:
        """Steps in all, as far as one can tell."""
        if self._steps is not None:
            return self._steps
        if self._taken == 0:
            return 4 * _PILOT * self._n
        return max(1, int(self._taken * self._seconds / self._elapsed()))

    def _two_parts(self, total: int) -> bool:
        return total >= _TWO_PARTS_FROM * self._n

    def _is_short(self, total: int) -> bool:
        return total < _FEW * self._n

    def _heat(self, share: float, total: int) -> float:
        """The first part's temperature after a share of so many steps in all."""
        if self._two_parts(total):
            share /= _FIRST_PART
        left = 1.0 - share / (1.0 - _QUENCHED)
        if left <= 0.0:
            return 0.0
        # Few steps cannot put together what heat has broken up: they start colder.
        few = _FEW_IF_AIMED if self.aims() else _FEW
        highest = min(1.0, max(_LOWEST_HEAT, total / (few * self._n)))
        # Rounded, so that every machine's power gives the same.
        fall = _FALL_OF_FEW if self._is_short(total) else _FALL
        return round(highest * fall ** (left - 1.0) * 2.0**30) / 2.0**30
