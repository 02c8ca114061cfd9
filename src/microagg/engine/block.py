"""One cell: its records in, what they publish out. Every engine ships this function to the data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.aggregation.centres import modes
from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.columns.coded import Coded
from microagg.columns.published import centres_of, shares_of
from microagg.engine.demanded import Values
from microagg.engine.plan import Plan
from microagg.grouping.constraints import How, given_groups, partition_units
from microagg.measure.exposure import Exposure

Orders = dict[str, NDArray[np.int32]] | None
# The label of each record's group, from points and k.
Given = Callable[[NDArray[np.float64], int], ArrayLike] | None
# All values of columns that something is demanded of, and the ranks of some records.
Demanded = tuple[Values, NDArray[np.int64]] | None


@dataclass(frozen=True, eq=False)
class Block:
    """The groups of a cell and what each publishes, column by column.

    empty: the groups that publish no value, column by column.
    shares: the largest share of each group's mean that one record has, column by column; None for
        columns without means.
    strata: the stratum that each group publishes, where groups cross strata; speakers: a record of
        each group that is in it.
    exposures: what groups of k alone, before they kept more, gave away of demanded columns.
    """

    groups: Partition
    centres: list[NDArray]
    empty: list[NDArray[np.bool_]]
    shares: list[NDArray[np.float64] | None]
    strata: NDArray[np.int64] | None = None
    speakers: NDArray[np.int64] | None = None
    exposures: dict[str, Exposure] = field(default_factory=dict)

    def published(
        self, place: int, part: slice = slice(None)
    ) -> tuple[NDArray, NDArray[np.bool_] | None]:
        """What each of some records publishes in a column, and where that is nothing."""
        labels, empty = self.groups.labels[part], self.empty[place]
        return self.centres[place][labels], empty[labels] if empty.any() else None

    def records(self, plan: Plan, part: slice = slice(None)) -> list[Coded]:
        """The columns as some records publish them."""
        return [
            coding.as_coded(*self.published(place, part))
            for place, coding in enumerate(plan.codings)
        ]

    def points(self, plan: Plan) -> NDArray[np.float64]:
        """Where the groups stand by what they publish, for somebody who weighs columns alike."""
        published = [
            coding.as_coded(values, empty if empty.any() else None)
            for coding, values, empty in zip(plan.codings, self.centres, self.empty, strict=True)
        ]
        return plan.place(published, weighted=False)


def group_cell(
    plan: Plan,
    cell: int,
    columns: Sequence[Coded],
    strata: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
    entities: NDArray[np.int64] | None = None,
    households: NDArray[np.int64] | None = None,
    advance: Advance = silent,
    orders: Orders = None,
    given: Given = None,
    demanded: Demanded = None,
) -> Block:
    """Group the records of one cell, k units or more, in the order of their rows.

    columns: the quasi-identifiers as `plan.code` gives them; strata, entities, households: of each
        record, if there are; orders: lines that methods put these records in, kept from
        one k to the next; given: what makes groups of points, in the place of the plan's method;
        demanded: all values of columns that something is demanded of, and the ranks of these
        records.

    The same records in the same order give the same groups, wherever this runs: lots are drawn from
    the recipe's seed and the number of the cell.
    """
    # Rows of an entity stay together, so its cell is one piece.
    rows = columns[0].values.size
    pieces = plan.pieces(rows) if entities is None else [slice(0, rows)]
    if households is not None and any(
        np.unique(households[part]).size < plan.recipe.k for part in pieces
    ):
        pieces = [slice(0, rows)]
    blocks = []
    for number, part in enumerate(pieces):
        whole = len(pieces) == 1
        blocks.append(
            _group_piece(
                plan,
                (cell, number),
                columns if whole else [column.rows(part) for column in columns],
                None if strata is None else strata[part],
                None if weights is None else weights[part],
                entities,
                None if households is None else households[part],
                advance if whole else silent,
                orders if whole else None,
                given,
                demanded,
            )
        )
        advance((number + 1) / len(pieces))
    return blocks[0] if len(blocks) == 1 else joined(blocks)


def _group_piece(
    plan: Plan,
    piece: tuple[int, int],
    columns: Sequence[Coded],
    strata: NDArray[np.int64] | None,
    weights: NDArray[np.float64] | None,
    entities: NDArray[np.int64] | None,
    households: NDArray[np.int64] | None,
    advance: Advance,
    orders: Orders,
    given: Given,
    demanded: Demanded,
) -> Block:
    recipe = plan.recipe
    points, merged = plan.place(columns), _codes(plan.merged(strata))
    entities, households = _codes(entities), _codes(households)
    plain: list[NDArray[np.int64]] = []
    seed = int(np.random.SeedSequence([recipe.seed, *piece]).generate_state(1)[0])
    if given is not None:
        labels = given(points, recipe.k)
        grouped = given_groups(labels, len(points), recipe.k, merged, entities, households)
    else:
        grouped = partition_units(
            points,
            recipe.k,
            How(plan.method, seed, plan.options, recipe.refine),
            strata=merged,
            entities=entities,
            households=households,
            demands=() if demanded is None else demanded[0].demands(demanded[1], columns, weights),
            advance=advance,
            orders=orders,
            mixed=plan.mixed(columns, points),
            before=plain.append,
        )
    # As large as all columns, and of no use to what groups publish.
    del points
    exposures = {}
    if demanded is not None and plain:
        exposures = demanded[0].exposures(plain[0], demanded[1])
    found = [centres_of(column, grouped, weights, recipe.decimals) for column in columns]
    centres, empty = ([each[place] for each in found] for place in (0, 1))
    shares = [shares_of(column, grouped.labels, weights, entities) for column in columns]
    if strata is None or not plan.crossed:
        return Block(grouped, centres, empty, shares, exposures=exposures)
    published = modes(strata, grouped.labels, grouped.n_groups, None)
    inside = np.flatnonzero(strata == published[grouped.labels])[::-1]
    speakers = np.empty(grouped.n_groups, np.int64)
    speakers[grouped.labels[inside]] = inside
    return Block(grouped, centres, empty, shares, published, speakers, exposures)


def joined(blocks: Sequence[Block]) -> Block:
    """Several blocks as one, their records and groups one after the other."""
    starts = np.cumsum([0, *(block.groups.n_groups for block in blocks[:-1])])
    labels = [block.groups.labels + start for block, start in zip(blocks, starts, strict=True)]
    first = blocks[0].groups
    places = range(len(blocks[0].centres))
    rows = np.cumsum([0, *(block.groups.labels.size for block in blocks[:-1])]).tolist()
    speakers = [
        block.speakers + row
        for block, row in zip(blocks, rows, strict=True)
        if block.speakers is not None
    ]
    strata = [block.strata for block in blocks if block.strata is not None]
    return Block(
        Partition(np.concatenate(labels), first.k, first.method),
        [np.concatenate([block.centres[place] for block in blocks]) for place in places],
        [np.concatenate([block.empty[place] for block in blocks]) for place in places],
        [
            None if one is None else np.concatenate([block.shares[place] for block in blocks])
            for place, one in enumerate(blocks[0].shares)
        ],
        np.concatenate(strata) if strata else None,
        np.concatenate(speakers) if speakers else None,
    )


def _codes(numbers: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """The same numbers from 0 without gaps."""
    return None if numbers is None else np.unique(numbers, return_inverse=True)[1]
