"""Every figure of risk and utility of a release."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.base.showing import Rows, Showing
from microagg.columns.coded import Coded
from microagg.columns.published import shares_of
from microagg.columns.space import compared, in_one_space
from microagg.engine.counting import Counts
from microagg.measure.anonymity import Disclosure
from microagg.measure.attacks.attack import Earlier, Finding, Scene
from microagg.measure.attacks.registry import try_attacks
from microagg.measure.change import category_loss, numeric_loss, share_changed
from microagg.measure.dominance import DOMINATES, Dominance
from microagg.measure.evidence import Evidence
from microagg.measure.figures import FIGURES, Figure, judge, shown
from microagg.measure.models.usefulness import Learnt, Usefulness
from microagg.measure.statistics import Pair, paired
from microagg.table.classes import Classes
from microagg.table.opening import check_columns


@dataclass(frozen=True, repr=False)
class Assessment(Showing):
    """Every risk and utility figure of a release.

    columns: those judged, that others may know. k_found: the least number of records that share
    their values in them. figures: by the names of `microagg.measure.figures`; those that compare
    numbers are of `judged_columns`, over the `judged` records that have all these values before and
    after. linked_columns: what an intruder knows of the `linked` records that are looked for.
    attacks: what an intruder still finds; models: what models learn of each target, if asked for.
    confidential: what classes give away of each confidential column, in full. The last seven are
    counted on the release itself, on all of it.
    """

    columns: tuple[str, ...]
    rows_original: int
    rows_released: int
    information_loss: float
    attribute_losses: dict[str, float]
    attribute_changes: dict[str, float]
    judged: int
    judged_columns: tuple[str, ...]
    linked: int
    linked_columns: tuple[str, ...]
    figures: dict[str, Any]
    notes: tuple[str, ...] = ()
    attacks: tuple[Finding, ...] = ()
    models: dict[str, Learnt] = field(default_factory=dict)
    k_found: int = 0
    unique: int = 0
    classes: int = 0
    smallest_class: int = 0
    median_class: float = 0.0
    largest_class: int = 0
    confidential: dict[str, dict[str, Any]] = field(default_factory=dict)

    def _told(self) -> dict[str, object]:
        return {
            "k_found": self.k_found,
            "unique": self.unique,
            "classes": self.classes,
            "information_loss": f"{self.information_loss:.2f} %",
        }

    def _rows(self) -> Rows:
        figures = [(each.title, value, each.better) for each, value in self.shown()]
        return ("figure", "value", "better"), figures

    def shown(self) -> list[tuple[Figure, str]]:
        """What a person reads of the figures, see `microagg.measure.figures.shown`."""
        return shown(self.figures)

    def counted(self, classes: Classes, counts: Counts) -> Self:
        """The same with what was counted on the classes of the release."""
        disclosed: dict[str, Disclosure] = {
            column: found for (name, column), found in counts.items() if name == "disclosure"
        }
        evidence = Evidence(k=classes.k, unique=classes.unique, confidential=disclosed or None)
        found = judge(evidence)
        return replace(
            self,
            figures={
                figure.name: {**self.figures, **found}[figure.name]
                for figure in FIGURES
                if figure.name in found or figure.name in self.figures
            },
            notes=(*self.notes, *filter(None, map(_note, disclosed, disclosed.values()))),
            k_found=classes.k,
            unique=classes.unique,
            classes=classes.count,
            smallest_class=classes.smallest,
            median_class=classes.median,
            largest_class=classes.largest,
            confidential={name: each.to_dict() for name, each in disclosed.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "columns": list(self.columns),
            "rows": {"original": self.rows_original, "released": self.rows_released},
            "k": {"found": self.k_found, "unique_records": self.unique},
            "classes": {
                "count": self.classes,
                "smallest": self.smallest_class,
                "median": self.median_class,
                "largest": self.largest_class,
            },
            "information_loss": {
                "total": self.information_loss,
                "attributes": self.attribute_losses,
            },
            "percent_changed": self.attribute_changes,
            "figures": self.figures,
            "judged": {"records": self.judged, "columns": list(self.judged_columns)},
            "linked": {"records": self.linked, "columns": list(self.linked_columns)},
            "confidential": self.confidential,
            "attacks": [each.to_dict() for each in self.attacks],
            "models": [each.to_dict() for each in self.models.values()],
            "notes": list(self.notes),
        }


def _note(column: str, disclosed: Disclosure) -> str | None:
    if disclosed.alone == 0:
        return None
    return (
        f"{disclosed.alone} records ({disclosed.percent_alone:.2f} %) are in a class that shares "
        f"one single value of {column}: whoever finds the class knows it."
    )


Pairs = Sequence[tuple[Coded, Coded]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked:
    """What is asked of a release beyond the figures that all have: attacks on it, models of it.

    confidential: secret columns before and after; others: those that are only told by models.
    earlier: an earlier release of the same people. targets: the columns that models are to tell.
    most: of more records models see a sample.
    """

    attacks: bool = False
    earlier: Earlier | None = None
    targets: Sequence[str] = ()
    confidential: Pairs = ()
    others: Pairs = ()
    most: int = 50_000


def measure(
    pairs: Pairs,
    *,
    rows_original: int,
    rows_released: int,
    labels: NDArray[np.int64] | None = None,
    losses: Mapping[str, float] | None = None,
    changes: Mapping[str, float] | None = None,
    known: Sequence[str] | None = None,
    sd: float = 5.0,
    distance: Any = None,
    importance: Any = 1.0,
    relative: bool = False,
    alpha: float | None = None,
    figures: Sequence[Figure] = FIGURES,
    asked: Asked | None = None,
    advance: Advance = silent,
    notes: tuple[str, ...] = (),
) -> Assessment:
    """Every figure of columns before and after, row by row; see also `Assessment.counted`.

    labels: the class of each record, which attacks need. losses, changes: by column, if they were
    computed before. known: the columns that records are linked by; all if not given. figures: those
    wanted. asked: what else is.
    """
    if losses is None:
        losses = {after.name: _loss(before, after) for before, after in pairs}
    if changes is None:
        changes = {after.name: _changed(before, after) for before, after in pairs}
    varying = [losses[after.name] for before, after in pairs if before.varies]
    names, numbers, complete = _complete_numbers(pairs)
    columns = tuple(after.name for _, after in pairs)
    check_columns(known or (), columns)
    by = tuple(name for name in columns if known is None or name in known)
    links = any("records" in figure.needs for figure in figures)
    rows = pairs[0][1].values.size
    asked = asked or Asked()
    more = [compared(*pair) for pair in asked.confidential] if asked.attacks else []
    useful, sampled = _useful(pairs, asked, rows)
    evidence = Evidence(
        numbers=numbers,
        complete=complete,
        points=in_one_space([pair for pair in pairs if pair[1].name in by]) if links else None,
        dominance=None if labels is None else _dominance(pairs, labels),
        useful=useful,
        distance=distance,
        importance=importance,
        relative=relative,
        alpha=alpha,
        sd=sd,
        advance=_until(advance, 0.0, 0.5) if asked.attacks else advance,
    )
    found = judge(evidence, figures)
    attacks: list[Finding] = []
    if asked.attacks and labels is not None:
        scene = Scene(
            evidence=evidence,
            columns=[compared(*pair) for pair in pairs],
            known=by,
            labels=labels,
            confidential=more,
            earlier=asked.earlier,
            advance=_until(advance, 0.5, 1.0),
        )
        attacks = try_attacks(scene)
    return Assessment(
        columns=columns,
        rows_original=rows_original,
        rows_released=rows_released,
        information_loss=float(np.mean(varying)) if varying else 0.0,
        attribute_losses=dict(losses),
        attribute_changes=dict(changes),
        judged=0 if numbers is None else numbers.n,
        judged_columns=tuple(names),
        linked=rows if links else 0,
        linked_columns=by,
        figures=found,
        notes=(
            *notes,
            *_scope(numbers, names, len(columns), rows, by if links else ()),
            *sampled,
            *(_attacked(sd, bool(more)) if attacks else ()),
        ),
        attacks=tuple(attacks),
        models={} if useful is None else useful.learnt,
    )


def _until(advance: Advance, first: float, last: float) -> Advance:
    """Tell the share done of a part of the work."""
    return lambda share: advance(first + share * (last - first))


def _useful(pairs: Pairs, asked: Asked, rows: int) -> tuple[Usefulness | None, list[str]]:
    """The columns that models see, if any are asked for, and how many records if not all."""
    if not asked.targets:
        return None, []
    columns = [compared(*pair) for pair in (*pairs, *asked.confidential, *asked.others)]
    notes = []
    if rows > asked.most:
        chosen = np.sort(np.random.default_rng(0).permutation(rows)[: asked.most])
        columns = [column.rows(chosen) for column in columns]
        notes.append(
            f"Models, the propensity score and two-way tables are of a sample of {asked.most} of "
            f"the {rows} records."
        )
    return Usefulness(columns=columns, targets=asked.targets), notes


def _attacked(sd: float, secrets: bool) -> Iterator[str]:
    """What attacks count as a disclosure, and what was not tried."""
    yield (
        f"In attacks a number is disclosed by a guess within {sd:g} % of a deviation, a category "
        "by the right one."
    )
    if not secrets:
        yield "No confidential column was named, so it was not tried what classes tell of them."


def linkage_note(records: str, columns: Sequence[str]) -> str:
    """Who is looked for, and by what."""
    return f"Linkage looks for {records}, by {', '.join(columns)}."


def _scope(
    numbers: Pair | None, names: Sequence[str], columns: int, rows: int, linked: Sequence[str]
) -> Iterator[str]:
    """What was judged, for somebody who reads the figures."""
    if linked:
        yield linkage_note(f"all {rows} records", linked)
    if numbers is not None and (numbers.n < rows or len(names) < columns):
        yield (
            f"Figures of numbers are of {', '.join(names)}, of the {numbers.n} records that have "
            "all of these before and after."
        )


def _dominance(pairs: Pairs, labels: NDArray[np.int64]) -> Dominance | None:
    """By the classes of the release; weights are not known here. None if there are no means."""
    shares = [shares_of(before, labels) for before, _ in pairs]
    if all(share is None for share in shares):
        return None
    found = Dominance([DOMINATES] * len(pairs))
    found.add(shares, int(labels.max()) + 1)
    return found


def _loss(before: Coded, after: Coded) -> float:
    loss_of = numeric_loss if after.numeric else category_loss
    return loss_of(before.values, after.values, before.missing, after.missing)


def _changed(before: Coded, after: Coded) -> float:
    return share_changed(before.values, after.values, before.missing, after.missing)


def _complete_numbers(
    pairs: Pairs,
) -> tuple[list[str], Pair | None, NDArray[np.bool_] | None]:
    """The columns that have distances; before and after, of the records that have all values, and
    which these are."""
    numeric = [pair for pair in pairs if pair[1].numeric]
    names = [after.name for _, after in numeric]
    if not numeric:
        return names, None, None
    whole = np.ones(numeric[0][0].values.size, bool)
    for column in (column for pair in numeric for column in pair):
        if column.missing is not None:
            whole &= ~column.missing
    if not whole.any():
        return names, None, None
    before, after = (
        np.column_stack([pair[side].values[whole].astype(np.float64) for pair in numeric])
        for side in (0, 1)
    )
    return names, paired(before, after), whole
