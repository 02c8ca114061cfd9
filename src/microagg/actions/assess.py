"""Judging a release against the original, whoever made it."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.progress import Advance, watch
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.base.record import Record
from microagg.columns.coded import Coded
from microagg.engine.choosing import Where, memory_for_table
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.engine.looking import Secrets
from microagg.measure.anonymity import disclosure
from microagg.measure.attacks.attack import Earlier
from microagg.release.assessment import Asked, Assessment, measure
from microagg.release.earlier import earlier_release
from microagg.release.pairing import Paired, Tables, beside, paired_rows
from microagg.release.pairing_in_parts import PairInParts, open_pair
from microagg.table.classes import classes_by
from microagg.table.opening import Opened, check_columns, open_table
from microagg.table.streams import estimated_size


def assess(
    original: Any,
    released: Any,
    *,
    recipe: Recipe | str | os.PathLike[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    key: str | None = None,
    record: Record | str | os.PathLike[str] | None = None,
    known: Sequence[str] | None = None,
    kinds: dict[str, str] | None = None,
    orders: dict[str, Sequence[str]] | None = None,
    sd: float = 5.0,
    distance: Any = None,
    importance: Any = 1.0,
    relative: bool = False,
    alpha: float | None = None,
    attacks: bool = False,
    also: Any = None,
    also_record: Record | str | os.PathLike[str] | None = None,
    targets: Sequence[str] | None = None,
    engine: str = "auto",
    memory: int | str | None = None,
    progress: bool | None = None,
    reading: dict[str, Any] | None = None,
) -> Assessment:
    """Judge a release, also one made by another tool.

    original, released: whatever `protect` takes.
    recipe: says which columns have which role and kind; if not given, the record or the certificate
    that stands beside the release, if any. What is named here goes before.
    quasi_identifiers: columns others may know; if nothing says so, those that the release changed.
    confidential: columns whose diversity among records that look alike is measured.
    key: a column in both that says which record is which; record: that of the release, which says
    in which order it was written. Without either rows are paired in order.
    known: which of the quasi-identifiers an intruder knows who links records; all if not given.
    kinds, orders: as in `Recipe`. sd: how close to the original is too close, in percent of a
    deviation. distance, importance, relative: as in `microagg.measure.interval.satisfaction`; with
    alpha, of proximity centroids, also what somebody guesses who knows how these are made.
    attacks: also try every attack of `microagg.measure.attacks`, see `Assessment.attacks`. also: an
    earlier release of the same people, for these; also_record: its record, as above. Where the
    recipe says how proximity centroids were made, the intruder knows it.
    targets: columns that models are to tell from all others that are judged or confidential,
    trained on the release and tested on the originals; see `Assessment.models`.
    engine, memory: memory, disk, spark, or auto: memory if both tables fit. On disk and on Spark
    the classes of the release and what they give away are counted on all records; everything else
    is of all records of some classes, chosen by lot, and a note says how many. The rows of a data
    frame of Spark have no order, so they need a key.
    """
    stated = beside(released)
    told = _recipe(recipe, record, stated)
    settings = Reading() if told is None else told.reading
    settings = settings if reading is None else Reading(**reading)
    if told is not None:
        quasi_identifiers = quasi_identifiers or told.quasi_identifiers
        confidential = told.confidential if confidential is None else confidential
        kinds, orders = {**told.kinds, **(kinds or {})}, {**told.orders, **(orders or {})}
    if not attacks and (also is not None or also_record is not None):
        raise OptionError("an earlier release is for attacks only; say attacks=True")
    if attacks and distance is None and alpha is None:
        distance, importance, relative, alpha = _proximity(told, importance, relative)
    confidential, targets = _as_list(confidential or ()), _as_list(targets or ())
    named = [*_as_list(quasi_identifiers or ()), *confidential, *targets]
    named += [] if key is None else [key]
    _once(confidential, "confidential")
    _once(targets, "targets")
    known = None if known is None else _some(known, "known")
    how = Paired(record, stated)
    chosen = _engine(original, released, Where(engine=engine, memory=memory))
    with ExitStack() as held:
        pair = None
        with watch("reading", progress) as advance:
            if chosen == "memory":
                tables = _opened(original, released, settings, named, key, how, advance)
            else:
                known_to_others = quasi_identifiers and _some(
                    quasi_identifiers, "quasi_identifiers"
                )
                given = chosen, known_to_others, settings, key, how
                pair = open_pair(original, released, *given, advance)
                held.enter_context(closing(pair))
                tables = pair.tables
        before, after = tables.before, tables.after
        names = _judged_columns(tables, quasi_identifiers, key)
        for table in (before, after):
            check_columns([*names, *confidential, *targets], table.frame.names)
        kinds, orders = kinds or {}, orders or {}
        pairs = [tables.coded(name, kinds.get(name), orders.get(name)) for name in names]
        labels, counts = _counted(after, names, confidential)
        classes, rows = classes_by(labels), (before.rows, after.rows)
        if pair is not None:
            classes, counts = pair.counted(names, confidential)
            rows = pair.rows
        earlier = None
        if also is not None:
            earlier = _earlier(tables, pair, names, also, key, also_record, settings)
    asked = Asked(
        attacks=attacks,
        earlier=earlier,
        targets=targets,
        confidential=tables.understood(
            [name for name in confidential if name not in names] if attacks or targets else [],
            kinds,
            orders,
        ),
        others=tables.understood(
            [name for name in targets if name not in (*names, *confidential)], kinds, orders
        ),
    )
    _check_targets(targets, pairs, asked)
    with watch("measuring", progress) as advance:
        assessment = measure(
            pairs,
            rows_original=rows[0],
            rows_released=rows[1],
            labels=labels,
            known=known,
            sd=sd,
            distance=distance,
            importance=importance,
            relative=relative,
            alpha=alpha,
            asked=asked,
            advance=advance,
            notes=(*before.notes, *after.notes, *([] if pair is None else pair.notes)),
        )
    return assessment.counted(classes, counts)


def _engine(original: Any, released: Any, where: Where) -> str:
    """Where both are looked at."""
    if where.engine != "auto":
        return where.engine
    frames = [each for each in (original, released) if not isinstance(each, str | os.PathLike)]
    if any(where.settled(each) == "spark" for each in frames):
        return "spark"
    paths = [each for each in (original, released) if isinstance(each, str | os.PathLike)]
    needed = memory_for_table(sum(estimated_size(each) or 0 for each in paths))
    fits = where.allowed is None or needed <= where.allowed
    return "memory" if fits else "disk"


def _opened(
    original: Any,
    released: Any,
    reading: Reading,
    named: Sequence[str],
    key: str | None,
    how: Paired,
    advance: Advance,
) -> Tables:
    """Both in memory, row beside row."""
    before = open_table(original, reading, None, lambda share: advance(share / 2), named)
    after = open_table(released, reading, None, lambda share: advance(0.5 + share / 2), named)
    return Tables(before, after, paired_rows(before, after, key, how))


def _check_targets(
    targets: Sequence[str], pairs: Sequence[tuple[Coded, Coded]], asked: Asked
) -> None:
    """Refuse targets that models cannot tell."""
    columns = {after.name: before for before, after in (*pairs, *asked.confidential, *asked.others)}
    for name in targets:
        if name not in columns:
            raise InputError(f"column {name!r} cannot be compared; leave it out of targets")
        if not columns[name].varies:
            raise InputError(
                f"column {name!r} has one value for everybody, which needs no model; leave it out "
                "of targets"
            )
    if targets and len(columns) < 2:
        raise OptionError(
            "models tell a target from other columns, but there are none; name more "
            "quasi_identifiers or confidential columns"
        )


def _proximity(
    told: Recipe | None, importance: Any, relative: bool
) -> tuple[Any, Any, bool, float | None]:
    """How proximity centroids were made, if the recipe says so in numbers."""
    if (
        told is None
        or told.aggregate != "proximity"
        or not all(isinstance(each, float) for each in (told.distance, told.importance))
    ):
        return None, importance, relative, None
    return told.distance, told.importance, told.relative, told.alpha


def _earlier(
    tables: Tables,
    pair: PairInParts | None,
    names: Sequence[str],
    also: Any,
    key: str | None,
    record: Record | str | os.PathLike[str] | None,
    reading: Reading,
) -> Earlier:
    """An earlier release, where this one is looked at.

    Classes are by the quasi-identifiers of what stands beside it, else by those of this release.
    """
    stated = beside(also)
    told = _recipe(None, record, stated)
    protected = names if told is None else told.quasi_identifiers
    reading = reading if told is None else told.reading
    how = Paired(record, stated, "also_record")
    if pair is not None:
        return pair.earlier(also, names, protected, reading, how)
    old = open_table(also, reading, None, named=protected)
    check_columns(protected, old.frame.names)
    return earlier_release(tables, old, names, protected, key, how)


def _recipe(
    recipe: Recipe | str | os.PathLike[str] | None,
    record: Record | str | os.PathLike[str] | None,
    stated: Sequence[dict[str, Any]],
) -> Recipe | None:
    """The recipe of a release: the one given, that of its record, or what stands beside it."""
    if recipe is not None:
        return recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    if record is not None:
        return Recipe(**(record if isinstance(record, Record) else Record.read(record)).recipe)
    for told in stated:
        with suppress(MicroaggError, TypeError):
            return Recipe(**told["recipe"]) if "recipe" in told else None
    return None


def _as_list(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _some(names: Sequence[str], setting: str) -> list[str]:
    if not names:
        raise OptionError(f"{setting} must name at least one column")
    return _once(_as_list(names), setting)


def _once(names: list[str], setting: str) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"column {name!r} stands twice in {setting}; name each column once")
    return names


def _judged_columns(tables: Tables, given: Sequence[str] | None, key: str | None) -> list[str]:
    if given is not None:
        return _some(given, "quasi_identifiers")
    before, after = tables.before.frame.names, tables.after.frame.names
    common = [name for name in after if name in before and name != key]
    changed = [name for name in common if tables.changed(name)]
    if not changed:
        raise OptionError(
            "the release changed no column that both tables have; name the columns to judge: "
            "quasi_identifiers"
        )
    return changed


def _counted(
    table: Opened, names: Sequence[str], confidential: Sequence[str]
) -> tuple[NDArray[np.int64], Counts]:
    """The class of each record, and what classes give away of confidential columns."""
    columns = {name: table.frame.column(name) for name in (*names, *confidential)}
    seen = pa.table({name: columns[name] for name in confidential})
    secrets = Secrets(confidential, seen.schema, table.origin)
    for part in seen.combine_chunks().to_batches():
        secrets.add(part)
    wanted = Wanted(secrets.read(table.origin), tuple(map(disclosure, confidential)))
    counting = Counting(wanted)
    return counting.whole(pa.table(columns), names), counting.found
