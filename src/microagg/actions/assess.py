"""Judging a release against the original, whoever made it."""

import os
from collections.abc import Sequence
from contextlib import suppress
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
from microagg.columns.secrets import ObservedSecret
from microagg.engine.choosing import Where, memory_for_table
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.measure.anonymity import disclosure
from microagg.measure.attacks.attack import Earlier
from microagg.release.assessment import Asked, Assessment, measure
from microagg.release.pairing import Tables, beside, not_countable, paired_rows
from microagg.release.pairing_in_parts import open_streams
from microagg.table.classes import class_of, classes_by
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
    engine, memory: memory, disk, or auto: memory if both tables fit. On disk the classes of the
    release and what they give away are counted on all records; everything else is of all records of
    some classes, chosen by lot, and a note says how many.
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
    streams = None
    with watch("reading", progress) as advance:
        if _on_disk(original, released, Where(engine=engine, memory=memory)):
            if also is not None:
                raise OptionError(
                    "an earlier release is put beside one in memory only; leave out also, or say "
                    "engine=memory"
                )
            streams = open_streams(
                original, released, quasi_identifiers, settings, key, record, stated, advance
            )
            tables, rows = streams.tables, streams.rows
        else:
            tables = _opened(original, released, settings, named, key, record, stated, advance)
            rows = tables.before.frame.rows, tables.after.frame.rows
    before, after = tables.before, tables.after
    names = _judged_columns(tables, quasi_identifiers, key)
    for table in (before, after):
        check_columns([*names, *confidential, *targets], table.frame.names)
    kinds, orders = kinds or {}, orders or {}
    pairs = [tables.coded(name, kinds.get(name), orders.get(name)) for name in names]
    labels, counts = _counted(after, names, confidential)
    classes = classes_by(labels)
    if streams is not None:
        classes, counts = streams.counted(names, confidential)
    asked = Asked(
        attacks=attacks,
        earlier=None if also is None else _earlier(tables, names, also, key, also_record, settings),
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
            notes=(*before.notes, *after.notes, *([] if streams is None else streams.notes)),
        )
    return assessment.counted(classes, counts)


def _on_disk(original: Any, released: Any, where: Where) -> bool:
    """Whether both are looked at in parts."""
    if where.engine == "spark":
        raise OptionError("assess looks at tables in memory and on disk; say engine=disk")
    if where.engine != "auto":
        return where.engine == "disk"
    paths = [each for each in (original, released) if isinstance(each, str | os.PathLike)]
    needed = memory_for_table(sum(estimated_size(each) or 0 for each in paths))
    return where.allowed is not None and needed > where.allowed


def _opened(
    original: Any,
    released: Any,
    reading: Reading,
    named: Sequence[str],
    key: str | None,
    record: Record | str | os.PathLike[str] | None,
    stated: Sequence[dict[str, Any]],
    advance: Advance,
) -> Tables:
    """Both in memory, row beside row."""
    before = open_table(original, reading, None, lambda share: advance(share / 2), named)
    after = open_table(released, reading, None, lambda share: advance(0.5 + share / 2), named)
    return Tables(before, after, paired_rows(before, after, key, record, stated))


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
    names: Sequence[str],
    also: Any,
    key: str | None,
    record: Record | str | os.PathLike[str] | None,
    reading: Reading,
) -> Earlier:
    """An earlier release: its classes, whose rows they are, and what both show as it is.

    Classes are by the quasi-identifiers of what stands beside it, else by those of this release.
    """
    stated = beside(also)
    told = _recipe(None, record, stated)
    protected = names if told is None else told.quasi_identifiers
    old = open_table(also, reading if told is None else told.reading, None, named=protected)
    check_columns(protected, old.frame.names)
    belongs = paired_rows(tables.before, old, key, record, stated, "also_record")
    whose = np.arange(old.frame.rows) if belongs is None else belongs
    place = np.full(tables.before.frame.rows, -1)
    place[whose[whose >= 0]] = np.flatnonzero(whose >= 0)
    rows = place if tables.rows is None else place[tables.rows]
    if (rows < 0).all():
        raise InputError(
            "nobody of this release is in the earlier one; give one of the same people"
        )
    labels = class_of(pa.table({name: old.frame.column(name) for name in protected}), protected)
    if np.array_equal(rows, np.arange(old.frame.rows)):
        # Rows in one order can be paired by their number.
        return Earlier(labels, rows, rows, rows)
    kept = [
        name
        for name in tables.after.frame.names
        if name in old.frame.names
        and name not in (*names, *protected)
        and not pa.types.is_nested(old.frame.column(name).type)
    ]
    both = Tables(tables.after, old, None)
    table = pa.table({name: pa.concat_arrays(both.column(name)) for name in kept})
    marks = class_of(table, kept) if kept else np.zeros(rows.size + old.frame.rows, np.int64)
    return Earlier(labels, rows, marks[: rows.size], marks[rows.size :])


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
    secrets = []
    for name in confidential:
        observed = ObservedSecret(name, columns[name].type, table.origin)
        observed.add(columns[name])
        secret = observed.secret(table.origin)
        if secret is None:
            raise not_countable(name)
        secrets.append(secret)
    counting = Counting(Wanted(tuple(secrets), tuple(map(disclosure, confidential))))
    return counting.whole(pa.table(columns), names), counting.found
