"""How risky a table is before anything is done: whom it exposes, and by which columns."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.progress import Advance, watch
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.columns.coded import encode
from microagg.engine.choosing import Where, choose_engine
from microagg.engine.disk.engine import Disk
from microagg.engine.survey import bad_weights
from microagg.kernels.threads import run_each
from microagg.measure.risk.exposing import KeyColumn
from microagg.measure.risk.exposure import THRESHOLD, Exposure, Whole
from microagg.measure.risk.frequencies import Frequencies
from microagg.measure.risk.keys import MISSING, Keys
from microagg.measure.risk.outcome import Risk
from microagg.measure.risk.special_uniques import MOST_WORK, largest_size
from microagg.measure.risk.tally import Tally, added
from microagg.table.classes import codes_of
from microagg.table.classes_in_parts import WholeClasses
from microagg.table.frames import Frame
from microagg.table.opening import Opened, Origin, check_columns, open_table


def risk(
    table: Any,
    keys: Sequence[str],
    *,
    weights: str | None = None,
    household: str | None = None,
    fraction: float | None = None,
    confidential: Sequence[str] = (),
    missing: Literal["value", "wildcard"] = "value",
    threshold: float = THRESHOLD,
    largest: int | None = None,
    engine: str = "auto",
    memory: int | str | None = None,
    progress: bool | None = None,
    **reading: Any,
) -> Risk:
    """How risky a table is: whom it exposes, and by which columns.

    table: whatever `protect` takes. keys: the columns that others may know, quasi-identifiers.
    weights: a column that says for how many of the population each record stands; fraction: the
        share of the population that the table is, where there are no weights. Without either the
        table is all there is.
    confidential: columns whose diversity among records with the same keys is told.
    household: a column that says who lives together; one without a value lives alone.
    missing: a key without a value is a "value" of its own, or a "wildcard" that agrees with every
        value, as in sdcMicro.
    threshold: the risk of a record that is too high, between 0 and 1.
    largest: look for special uniques of up to so many columns; 0 for none. If not given, as many as
        a minute allows, and a note says how many.
    engine, memory: as in `protect`. On disk frequencies are counted on all records, in parts, and
        what follows from them; special uniques, diversity, wildcards and the arrays by record are
        of a sample, whose size a note says. A table of Spark is judged by such a sample, which
        `population` takes into account.
    reading: how to read it, as in `Recipe.reading`.

    O(n) memory; O(n) time for each key, but for special uniques, see
    `microagg.measure.risk.special_uniques`.
    """
    asked = Asked(
        keys=once(keys, "keys"),
        weights=weights,
        household=household,
        fraction=fraction,
        confidential=once(confidential, "confidential"),
        missing=missing,
        threshold=threshold,
        largest=largest,
    )
    where = Where(engine=engine, memory=memory)
    if where.settled(table) != "memory":
        return _of_sample(table, asked, where, Reading(**reading), progress)
    with watch("reading", progress) as advance:
        opened = open_table(table, Reading(**reading), asked.named, advance, asked.named)
    return asked.measure(opened, progress)


def _of_sample(
    table: Any, asked: "Asked", where: Where, reading: Reading, progress: bool | None
) -> Risk:
    """The risk of a table that is not in memory, by a sample of its records."""
    if asked.household is not None:
        raise OptionError(
            "household needs all records in one place, which only engine=memory has; leave it out, "
            "or take that engine"
        )
    recipe = Recipe.from_settings(
        {
            "quasi_identifiers": asked.keys,
            "confidential": asked.confidential,
            "weights": asked.weights,
            "reading": reading.model_dump(),
        }
    )
    with watch("opening", progress) as advance:
        opened = choose_engine(table, recipe, where, advance)
    try:
        with watch("looking at all records", progress) as advance:
            survey = opened.survey(advance)
        sample, rows = survey.sample.result()
        source = Opened(Frame(sample), opened.origin, opened.sha256, list(opened.notes))
        whole = None
        if isinstance(opened, Disk) and rows.size < survey.rows and asked.missing == "value":
            with watch("counting all records", progress) as advance:
                whole = counted_on_disk(opened, asked, rows, advance)
        return asked.measure(source, progress, survey.rows, survey.weight, whole)
    finally:
        opened.close()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of a table's risk; see `risk`.

    most_work: see `microagg.measure.risk.special_uniques`.
    """

    keys: Sequence[str]
    weights: str | None = None
    household: str | None = None
    fraction: float | None = None
    confidential: Sequence[str] = ()
    missing: str = "value"
    threshold: float = THRESHOLD
    largest: int | None = None
    most_work: int = MOST_WORK

    def __post_init__(self) -> None:
        fraction, threshold, largest = self.fraction, self.threshold, self.largest
        if not self.keys:
            raise OptionError("keys must name at least one column that others may know")
        if fraction is not None and not 0.0 < fraction <= 1.0:
            raise OptionError(f"fraction must be above 0 and at most 1, but it is {fraction!r:.30}")
        if fraction is not None and self.weights is not None:
            raise OptionError(
                "weights and fraction both say how large the population is; give one of them"
            )
        if self.missing not in ("value", "wildcard"):
            raise OptionError(
                f"missing must be value or wildcard, but it is {self.missing!r:.30}; take wildcard "
                "for figures as sdcMicro has them"
            )
        if not 0.0 < threshold < 1.0:
            raise OptionError(
                f"threshold must be between 0 and 1, but it is {threshold!r:.30}; "
                f"{THRESHOLD:g} is usual"
            )
        if largest is not None and largest < 0:
            raise OptionError(f"largest must be 0 or more, but it is {largest!r:.30}")

    @property
    def named(self) -> list[str]:
        """The columns that are needed, each once."""
        more = [name for name in (self.weights, self.household) if name is not None]
        return list(dict.fromkeys([*self.keys, *self.confidential, *more]))

    def measure(
        self,
        opened: Opened,
        progress: bool | None = None,
        rows: int | None = None,
        weight: float = 0.0,
        whole: Whole | None = None,
    ) -> Risk:
        """The risk of a table that was opened.

        rows, weight: of all records, where the table is a sample of them; whole: what was counted
        on all of them.
        """
        check_columns(self.named, opened.frame.names)
        with watch("counting", progress) as advance:
            codes = _codes(opened, [*self.keys, *self.confidential])
            exposure = Exposure(
                keys=Keys.of(self.keys, codes[: len(self.keys)]),
                weights=self._weights(opened, None if whole else rows, weight),
                households=None if self.household is None else _households(opened, self.household),
                wildcards=self.missing == "wildcard",
                threshold=self.threshold,
                advance=advance,
                whole=whole,
            )
            columns = len(self.keys)
            size = largest_size(columns, exposure.combinations.count, self.most_work)
            size = size if self.largest is None else min(self.largest, columns)
            return Risk.of(
                replace(exposure, largest=size),
                dict(zip(self.confidential, codes[columns:], strict=True)),
                rows,
                notes=(
                    *opened.notes,
                    *self._on_a_sample(exposure, rows, size),
                    *_estimated(exposure),
                    *self._notes(size),
                ),
            )

    def _weights(
        self, opened: Opened, rows: int | None, weight: float
    ) -> NDArray[np.float64] | None:
        sampled = opened.frame.rows
        times = 1.0 if rows is None else rows / sampled
        if self.weights is None:
            each = times / (self.fraction or 1.0)
            return None if each == 1.0 else np.full(sampled, each)
        column = encode(self.weights, _column(opened, self.weights), "continuous")
        values = column.values.astype(np.float64)
        if column.missing is not None or (values < 0.0).any() or not values.any():
            raise bad_weights(self.weights)
        return values if times == 1.0 else values * (weight / values.sum())

    def _on_a_sample(self, exposure: Exposure, rows: int | None, size: int) -> Iterator[str]:
        """What is of a sample, and how large that is; size: see `special_uniques`."""
        sampled = exposure.rows
        if rows is None or rows == sampled:
            return
        if exposure.whole is None:
            yield (
                f"All figures are of a sample of {sampled:,} of the {rows:,} records; what is said "
                "of the population takes the others into account."
            )
            return
        looked_at = ["special uniques"] if size else []
        looked_at += ["diversity"] if self.confidential else []
        yield (
            f"Frequencies and what follows from them are counted on all {rows:,} records; "
            f"{' and '.join([*looked_at, 'what is known by record'])} on a sample of {sampled:,}."
        )

    def _notes(self, looked_at: int) -> Iterator[str]:
        columns = len(self.keys)
        if self.largest is not None or looked_at == columns:
            return
        more = looked_at + 1
        yield (
            f"Special uniques are of up to {looked_at} of {columns} columns: the "
            f"{math.comb(columns, more)} combinations of {more} would take long; say "
            f"largest={more} to look at them."
            if looked_at
            else f"Special uniques were not looked for, as combinations of {columns} columns are "
            f"too many; say largest={min(2, columns)} to do it, or name fewer keys."
        )


def _estimated(exposure: Exposure) -> Iterator[str]:
    """How many of the population are unique is no count; say what it is."""
    found = exposure.population_uniques
    if found is not None and found.words:
        yield found.words


def once(names: Sequence[str], setting: str) -> list[str]:
    """Names, or one; refuse one that stands there twice."""
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"column {name!r} stands twice in {setting}; name each column once")
    return names


def _codes(opened: Opened, names: Sequence[str]) -> list[NDArray[np.int32]]:
    codes: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(names)

    def code(place: int) -> None:
        codes[place] = codes_of(names[place], _column(opened, names[place]))

    run_each([partial(code, place) for place in range(len(names))])
    return codes


def _column(opened: Opened, name: str) -> pa.Array:
    """A column, missing where a text or a code says so."""
    return opened.origin.readable(opened.without_codes(name))


def _households(opened: Opened, name: str) -> NDArray[np.int64]:
    codes = codes_of(name, _column(opened, name)).astype(np.int64)
    alone = np.flatnonzero(codes == MISSING)
    codes[alone] = codes.max(initial=0) + 1 + np.arange(alone.size)
    return codes


# Beside the keys, which cannot be called so.
_WEIGHT, _ROW = "\0weight", "\0row"


def counted_on_disk(
    engine: Disk, asked: Asked, sampled: NDArray[np.int64], advance: Advance
) -> Whole:
    """What all records add up to, and the frequencies of those sampled, by their row numbers.

    A look at the table for all keys, and two for each: alone, and all others. Sums of weights may
    differ from those of a table in memory in the last digits. Memory: that of `classes_in_parts`.
    """
    keys, origin = list(asked.keys), engine.origin
    names = [*keys, *([] if asked.weights is None else [asked.weights])]
    times = 1.0 / (asked.fraction or 1.0)
    found = Frequencies(np.zeros(sampled.size, np.int64), np.zeros(sampled.size))
    looks = 2 * len(keys) + 1

    def coded(start: int, part: pa.RecordBatch) -> pa.RecordBatch:
        columns = {name: _comparable(origin, name, part.column(name)) for name in keys}
        if asked.weights is not None:
            columns[_WEIGHT] = part.column(asked.weights).cast(pa.float64())
        rows = np.arange(start, start + part.num_rows)
        at = np.searchsorted(sampled, rows).clip(max=sampled.size - 1)
        columns[_ROW] = pa.array(at, mask=sampled[at] != rows)
        return pa.RecordBatch.from_pydict(columns)

    def classes(by: Sequence[str], look: int, *more: str) -> Iterator[WholeClasses]:
        values = [*([] if asked.weights is None else [_WEIGHT]), *more]
        tell = lambda share: advance((look + share) / looks)  # noqa: E731
        return engine.classes(names, coded, by, values, tell)

    def population(part: WholeClasses) -> NDArray[np.float64]:
        if asked.weights is None:
            return part.sizes.astype(np.float64) * times
        counts = 1 if part.weights is None else part.weights
        weights = part.values[:, 0].copy().view(np.float64) * counts
        return np.asarray(np.bincount(part.labels, weights, part.sizes.size), np.float64)

    def tally(by: Sequence[str], look: int) -> Tally:
        parts = classes(by, look)
        return added([Tally.of(each.sizes, population(each), asked.threshold) for each in parts])

    tallies = []
    for part in classes(keys, 0, _ROW):
        summed = population(part)
        lines = np.flatnonzero(~part.missing[:, -1])
        at, labels = part.values[lines, -1], part.labels[lines]
        found.sample[at], found.population[at] = part.sizes[labels], summed[labels]
        tallies.append(Tally.of(part.sizes, summed, asked.threshold))
    whole, columns = added(tallies), []
    for place, name in enumerate(keys):
        others = [each for each in keys if each != name]
        alone = tally([name], 2 * place + 1)
        if others:
            without = tally(others, 2 * place + 2)
        else:
            everybody = np.array([whole.rows]), np.array([whole.population])
            without = Tally.of(*everybody, asked.threshold)
        columns.append(KeyColumn.of(name, alone, without, None))
    return Whole(whole, tuple(columns), found)


def _comparable(origin: Origin, name: str, column: pa.Array) -> pa.Array:
    """A key as it is compared: without a value where it is NaN, or a text or a code says so."""
    column = origin.readable(origin.format.without_codes(column, name, origin.layout))
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column
