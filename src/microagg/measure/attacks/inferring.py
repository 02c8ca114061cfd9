"""Inference: what a class, an order of rows, or a mean tells of values."""

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.measure.attacks.attack import Attack, Found, Scene, Share
from microagg.measure.attacks.guessing import for_everybody, percent, told_by_best_guess
from microagg.measure.attacks.words import listed, share
from microagg.measure.compared import Compared
from microagg.measure.interval import transparent_guesses


def _confidential(scene: Scene) -> list[Found]:
    found = []
    for column in scene.confidential:
        reach = column.reach(scene.sd)
        told, certain = told_by_best_guess(column, scene.labels, reach)
        everybody = np.zeros(scene.n, np.int64)
        plain, sure = told_by_best_guess(column, everybody, reach)
        values = Share(*(percent([each], [column]) for each in (told, plain)))
        records = Share(*(100.0 * float(each.mean()) for each in (certain, sure)))
        found.append(
            Found(
                f"Who knows a person's class and guesses {column.name} by what most of the class "
                f"have is right for {share(values)} of those who have a value, and certain for "
                f"{share(records)} of the records.",
                records,
                values,
                column.name,
            )
        )
    return found


def _order(scene: Scene) -> list[Found]:
    told, anyway, plain, gains = [], [], [], {}
    for column in scene.numbers:
        reach, there = column.reach(scene.sd), column.there
        told.append((np.abs(column.original - smoothed(column)) <= reach) & there)
        shown = column.shown & there
        anyway.append((np.abs(column.original - column.released) <= reach) & shown)
        plain.append(for_everybody(column, reach))
        gains[column.name] = int(told[-1].sum()) - int(anyway[-1].sum())
    values = Share(*(percent(each, scene.numbers) for each in (told, plain)))
    # Disclosed by the order: what was not close as it was released.
    records = Share(
        *(
            100.0
            * float(np.any([a & ~b for a, b in zip(each, anyway, strict=True)], axis=0).mean())
            for each in (told, plain)
        )
    )
    most = max(gains, key=lambda name: gains[name])
    words = (
        f"Who takes the rows to be sorted and draws a rising or falling curve through them guesses "
        f"{share(values)} of the numbers; {percent(anyway, scene.numbers):.2f} % are as close as "
        "released"
    )
    if gains[most] > 0:
        words += f"; the order tells most of {most}"
    return [Found(words + ".", records, values)]


def smoothed(column: Compared) -> NDArray[np.float64]:
    """The monotone curve through the released rows that fits best, rising or falling.

    Where the release has no value there is no guess, NaN.
    """
    values = column.released[column.shown]
    rising, falling = monotone(values), -monotone(-values)
    misfits = [float(np.square(values - each).sum()) for each in (rising, falling)]
    guesses = np.full(column.released.size, np.nan)
    guesses[column.shown] = rising if misfits[0] <= misfits[1] else falling
    return guesses


def monotone(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nowhere falling sequence nearest to values in squares: isotonic regression.

    By pooling adjacent violators (Ayer and others, 1955). O(n) time.
    """
    fitted = np.empty(values.size)
    _pool(np.ascontiguousarray(values, np.float64), fitted, np.empty(values.size, np.int64))
    return fitted


@kernel
def _pool(values, fitted, sizes):
    """Means of the pools found so far stand first in `fitted`, and how many are in each."""
    pools = 0
    for value in values:
        mean, size = value, 1
        while pools > 0 and fitted[pools - 1] >= mean:
            pools -= 1
            joined = sizes[pools] + size
            mean += (fitted[pools] - mean) * (sizes[pools] / joined)
            size = joined
        fitted[pools], sizes[pools] = mean, size
        pools += 1
    at = values.size
    for pool in range(pools - 1, -1, -1):
        mean = fitted[pool]
        for _ in range(sizes[pool]):
            at -= 1
            fitted[at] = mean


def _reconstruction(scene: Scene) -> list[Found]:
    columns = scene.numbers
    told, plain = [], []
    for column in columns:
        reach = column.reach(scene.sd)
        told.append(np.abs(missed(column, scene.labels)) <= reach)
        plain.append(for_everybody(column, reach))
    values = Share(*(percent(each, columns) for each in (told, plain)))
    records = Share(_every(told, columns), _every(plain, columns))
    names = listed([column.name for column in columns])
    words = (
        f"Who knows all members of a class but one works out {share(values)} of the last one's "
        f"numbers ({names}) from the mean that is published, and all of them of {share(records)} "
        "of the records."
    )
    return [Found(words, records, values)]


def _every(told: list[NDArray[np.bool_]], columns: list[Compared]) -> float:
    """The share of the records all of whose values are told."""
    every = [one | ~column.there for one, column in zip(told, columns, strict=True)]
    return 100.0 * float(np.all(every, axis=0).mean())


def missed(column: Compared, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far off the value is that follows from a class's mean and all other members, NaN if none.

    The size of the class times what is published, less the others: so it is off by the size times
    what rounding, or anything but a mean, changed.
    """
    there = column.there
    sizes = np.bincount(labels[there], minlength=int(labels.max()) + 1)
    origins = np.zeros(sizes.size)
    origins[labels] = column.released
    away = np.where(there, column.original - origins[labels], 0.0)
    totals = np.bincount(labels, away, sizes.size)
    return np.where(there & column.shown, totals[labels], np.nan)


INFERENCE = Attack(
    "inference",
    "Inference",
    ("inference",),
    "The class that a person is in.",
    "Of each confidential column what tells most records of the class is guessed: its commonest "
    "category, or the middle of its densest stretch of numbers.",
    "those of whom it is certain, for it tells the whole class",
    "those that the guess tells",
    "the best one guess for everybody",
    _confidential,
    ("secrets",),
)
ORDER = Attack(
    "order",
    "Order of rows",
    ("inference",),
    "That the rows were sorted by something.",
    "A rising or falling curve is drawn through each column of numbers in the order of its rows "
    "(isotonic regression), which undoes much of the averaging where they were sorted.",
    "those with a value that the curve tells and the release does not",
    "those that the curve tells",
    "the best one guess for everybody",
    _order,
    ("measured",),
)
RECONSTRUCTION = Attack(
    "reconstruction",
    "All but one known",
    ("inference",),
    "All members of a class but one.",
    "The last member's numbers are the size of the class times the published mean, less those of "
    "the others; weights and what is no mean lead astray.",
    "those all of whose numbers are worked out",
    "those that are worked out",
    "the best one guess for everybody",
    _reconstruction,
    ("measured",),
)


def _transparent(scene: Scene) -> list[Found]:
    evidence, columns = scene.evidence, scene.numbers
    assert evidence.distance is not None
    assert evidence.alpha is not None
    told = transparent_guesses(
        evidence.pair,
        scene.sd,
        evidence.distance,
        evidence.importance,
        evidence.alpha,
        relative=evidence.relative,
    )
    plain = [for_everybody(column, column.reach(scene.sd)) for column in columns]
    values = Share(evidence.transparent_interval, percent(plain, columns))
    records = Share(100.0 * float(np.all(told, axis=0).mean()), _every(plain, columns))
    words = (
        f"Who knows how centroids were kept at a distance, and the settings, guesses "
        f"{share(values)} of the numbers, and all of them of {share(records)} of the records; "
        f"{evidence.interval.total:.2f} % are as close as released."
    )
    return [Found(words, records, values)]


TRANSPARENT = Attack(
    "transparent",
    "Transparent intruder",
    ("inference",),
    "That centroids keep a distance, and with which settings.",
    "What proximity centroids were moved from is solved for, see `transparent_interval`.",
    "those all of whose numbers are told",
    "those that the best guess tells, of records that have all numbers",
    "the best one guess for everybody",
    _transparent,
    ("moved", "measured"),
)
