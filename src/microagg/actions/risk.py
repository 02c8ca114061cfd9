"""How risky a table is before anything is done: whom it exposes, and by which columns."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.progress import watch
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.columns.coded import encode
from microagg.engine.alike import Coding, InParts, counted
from microagg.engine.choosing import Where, choose_engine
from microagg.engine.survey import bad_weights
from microagg.kernels.threads import run_each
from microagg.measure.risk.exposure import THRESHOLD, Exposure, Whole
from microagg.measure.risk.keys import MISSING, Keys
from microagg.measure.risk.outcome import Risk
from microagg.measure.risk.special_uniques import MOST_WORK, largest_size
from microagg.table.classes import codes_of
from microagg.table.frames import Frame
from microagg.table.opening import Opened, check_columns, open_table


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
    engine, memory: as in `protect`. On disk and on Spark frequencies are counted on all records, in
        parts, and what follows from them; special uniques, diversity, wildcards and the arrays by
        record are of a sample, whose size a note says.
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
        return risk_in_parts(table, asked, where, Reading(**reading), progress)
    with watch("reading", progress) as advance:
        opened = open_table(table, Reading(**reading), asked.named, advance, asked.named)
    return asked.measure(opened, progress)


def risk_in_parts(
    table: Any, asked: "Asked", where: Where, reading: Reading, progress: bool | None
) -> Risk:
    """The risk of a table that is not in memory: what adds up is counted on all records."""
    more = [] if asked.household in (None, *asked.keys) else [asked.household]
    recipe = Recipe.from_settings(
        {
            "quasi_identifiers": asked.keys,
            "confidential": list(dict.fromkeys([*asked.confidential, *more])),
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
        if rows.size < survey.rows and asked.household is not None and asked.missing != "value":
            raise OptionError(
                "household and wildcards together need all records in one place, which only "
                "engine=memory has; leave one of them out, or take that engine"
            )
        if rows.size < survey.rows and asked.missing == "value":
            times = 1.0 / (asked.fraction or 1.0)
            named = tuple(asked.keys), asked.weights, asked.household
            coding = Coding(*named, times, opened.origin, rows)
            assert isinstance(opened, InParts)
            with watch("counting all records", progress) as advance:
                whole = counted(opened, coding, asked.threshold, advance)
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
