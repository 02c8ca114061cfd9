"""One cell: its records in, what they publish out. Every engine ships this function to the data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.base.groups import Partition
from microagg.columns.coded import Coded
from microagg.columns.published import centres_of, decimals_of
from microagg.engine.plan import Plan
from microagg.grouping.constraints import partition_units


@dataclass(frozen=True, eq=False)
class Block:
    """The groups of a cell and what each publishes, column by column.

    empty: the groups that publish no value, column by column.
    """

    groups: Partition
    centres: list[NDArray]
    empty: list[NDArray[np.bool_]]

    def published(self, place: int) -> tuple[NDArray, NDArray[np.bool_] | None]:
        """What each record publishes in a column, and where that is nothing."""
        labels, empty = self.groups.labels, self.empty[place]
        return self.centres[place][labels], empty[labels] if empty.any() else None


def group_cell(
    plan: Plan,
    cell: int,
    columns: Sequence[Coded],
    strata: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Block:
    """Group the records of one cell, k or more, in the order of their rows.

    columns: the quasi-identifiers as `plan.code` gives them; strata: of each record, if there are.

    The same records in the same order give the same groups, wherever this runs: lots are drawn from
    the recipe's seed and the number of the cell.
    """
    blocks = [
        group_piece(
            plan,
            (cell, number),
            [column.rows(part) for column in columns],
            None if strata is None else strata[part],
            None if weights is None else weights[part],
        )
        for number, part in enumerate(plan.pieces(columns[0].values.size))
    ]
    return blocks[0] if len(blocks) == 1 else _joined(blocks)


def group_piece(
    plan: Plan,
    piece: tuple[int, int],
    columns: Sequence[Coded],
    strata: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Block:
    """Group one of the pieces of a cell that `plan.pieces` makes; piece: cell and number."""
    recipe = plan.recipe
    codes = None if strata is None else np.unique(strata, return_inverse=True)[1]
    grouped = partition_units(
        plan.place(columns),
        recipe.k,
        method=plan.method,
        seed=int(np.random.SeedSequence([recipe.seed, *piece]).generate_state(1)[0]),
        options=plan.options,
        refine=recipe.refine,
        strata=codes,
        progress=False,
    )
    found = [
        centres_of(column, grouped.partition, weights, decimals_of(recipe.decimals, column.name))
        for column in columns
    ]
    return Block(
        grouped.partition, [centres for centres, _ in found], [empty for _, empty in found]
    )


def _joined(blocks: Sequence[Block]) -> Block:
    starts = np.cumsum([0, *(block.groups.n_groups for block in blocks[:-1])])
    labels = [block.groups.labels + start for block, start in zip(blocks, starts, strict=True)]
    first = blocks[0].groups
    places = range(len(blocks[0].centres))
    return Block(
        Partition(np.concatenate(labels), first.k, first.method),
        [np.concatenate([block.centres[place] for block in blocks]) for place in places],
        [np.concatenate([block.empty[place] for block in blocks]) for place in places],
    )
