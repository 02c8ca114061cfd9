"""The plan of a release: everything that must be known of the whole table to work in parts.

Made once, from one look at every row and a sample; then rows find their cells, and cells their
groups, by the plan alone: in memory, on disk or on many machines, today or again after a failure.
It depends on the table and the recipe only. It is plain data, and tells averages and borders of the
original: not for the public.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded
from microagg.columns.coding import Coding
from microagg.columns.points import Scores
from microagg.engine.lacking import Judge
from microagg.engine.sample import row_hashes
from microagg.engine.strata import Strata
from microagg.engine.survey import piece
from microagg.grouping.divide.cells import CellTree, assign, merge_small
from microagg.grouping.method import Mixed

# Enough that the borders of cells cost little, few enough that a cell is quickly done.
CELL_ROWS = 200_000
# Rows times crowded coordinates, where everybody is compared with everybody: some seconds.
_CROWD = 3_200_000
DROPPED = -1


@dataclass(frozen=True, eq=False)
class Plan:
    """How rows find their cells and what is done there.

    method, options: those of every cell, chosen for the table as a whole; called: with the search
        that may follow.
    cell_rows: how many rows a cell is meant to have at most; None where all are one.
    trees: of splits of space; without strata there is one. Leaves of all trees are numbered in one
        line: tree t has the leaves from first_leaf[t] on.
    stratum_of: for each stratum the one that it counts as, or DROPPED.
    strata_leaf: for each stratum the leaf that it is in, whole, with others; or -2 - t if tree t
        divides it.
    cell_of: the cell of each leaf, once leaves were counted and small ones merged.
    dealt: among how many cells the rows of each leaf are dealt by lot, from cell_of on; None where
        nothing is demanded. Cells that keep demands only together grow too large for one.
    """

    recipe: Recipe
    source: Mapping[str, Any]
    method: str
    options: Mapping[str, Any]
    called: str
    rows: int
    cell_rows: int | None
    codings: tuple[Coding, ...]
    trees: tuple[CellTree, ...]
    first_leaf: NDArray[np.int64]
    leaves: int
    strata: Strata | None = None
    stratum_of: NDArray[np.int64] | None = None
    strata_leaf: NDArray[np.int64] | None = None
    small: int = 0
    moved: int = 0
    cell_of: NDArray[np.int64] | None = None
    dealt: NDArray[np.int64] | None = None

    @property
    def width(self) -> int:
        """How many coordinates a record has."""
        return sum(coding.width for coding in self.codings)

    @property
    def rows_at_once(self) -> int:
        """Among how many rows neighbours are looked for, lest it take hours."""
        return rows_at_once(self.codings)

    @property
    def sha256(self) -> str:
        """Of the plan as text."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @property
    def divides(self) -> bool:
        """Whether some rows are told apart by where they stand."""
        return any(tree.cuts.size for tree in self.trees)

    @property
    def n_cells(self) -> int:
        """How many cells there are; none before leaves were counted."""
        if self.cell_of is None:
            return 0
        more = 1 if self.dealt is None else self.dealt
        return int((self.cell_of + more).max())

    @property
    def demanding(self) -> bool:
        """Whether groups are to keep more than k."""
        return bool(self.recipe.demands or self.recipe.dominance)

    @property
    def means(self) -> tuple[str, ...]:
        """The columns whose means nobody may dominate."""
        return tuple(
            coding.name
            for coding in self.codings
            if coding.name in self.recipe.dominance and coding.categories is None
        )

    @property
    def dropped(self) -> int:
        """How many records are left out."""
        return self.moved if self.recipe.small_strata == "drop" else 0

    @property
    def counted(self) -> tuple[str, ...]:
        """The columns whose combinations of values at least k records share."""
        return (*self.recipe.quasi_identifiers, *self.recipe.within)

    @property
    def crossed(self) -> bool:
        """Whether some groups cross strata, for small ones were merged."""
        return self.small > 0 and self.recipe.small_strata == "merge"

    def code(self, part: pa.RecordBatch | pa.Table) -> list[Coded]:
        """The quasi-identifiers of some rows as numbers."""
        return [coding.code(piece(part, coding.name)) for coding in self.codings]

    def place(self, columns: Sequence[Coded], weighted: bool = True) -> NDArray[np.float64]:
        """Where records stand, (n, width); weighted: by the recipe, as they are grouped."""
        points = np.empty((columns[0].values.size, self.width))
        start = 0
        for coding, column in zip(self.codings, columns, strict=True):
            part = points[:, start : start + coding.width]
            coding.fill(column, part)
            if weighted:
                part *= self.recipe.attribute_weights.get(coding.name, 1.0)
            start += coding.width
        return points

    def mixed(self, columns: Sequence[Coded], points: NDArray[np.float64]) -> Mixed | None:
        """What records that stand there lose, as it is reported: each column alike, or by weight.

        None where there are no categories without an order: points tell all there is to lose.
        """
        places = [coding.place for coding in self.codings]
        if not any(each.varies for each in places if not isinstance(each, Scores)):
            return None
        numbers, codes, prices = [], [], []
        start = 0
        for coding, column in zip(self.codings, columns, strict=True):
            if isinstance(coding.place, Scores):
                numbers.append(points[:, start].copy())
                if column.missing is not None:
                    numbers[-1][column.missing] = np.nan
            elif coding.place.varies:
                codes.append(column.values.astype(np.int32))
                if column.missing is not None:
                    codes[-1][column.missing] = -1
                weight = self.recipe.attribute_weights.get(coding.name, 1.0)
                prices.append(weight**2 * coding.rows / coding.place.others)
            start += coding.width
        told = np.empty((len(points), len(numbers)))
        for place, each in enumerate(numbers):
            told[:, place] = each
        return Mixed(told, np.column_stack(codes), np.array(prices))

    def strata_of(self, part: pa.RecordBatch | pa.Table) -> NDArray[np.int64] | None:
        """The stratum of each row; None where there are no strata."""
        if self.strata is None:
            return None
        names = list(self.strata.names)
        return self.strata.code(pa.table([piece(part, name) for name in names], names))

    def merged(self, strata: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """What strata count as, small ones merged or DROPPED; None where there are none."""
        return None if strata is None or self.stratum_of is None else self.stratum_of[strata]

    def stays(self, part: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        """Which of some rows are not left out; their strata are enough to know."""
        merged = self.merged(self.strata_of(part))
        return np.ones(part.num_rows, bool) if merged is None else merged != DROPPED

    def leaf_of(
        self, points: NDArray[np.float64], strata: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """The leaf that each record lies in; DROPPED for records that are left out."""
        merged = self.merged(strata)
        if merged is None or self.strata_leaf is None:
            return assign(self.trees[0], points)
        leaves = np.where(merged == DROPPED, DROPPED, self.strata_leaf[merged])
        for tree in np.unique(leaves[leaves < DROPPED]).tolist():
            rows = np.flatnonzero(leaves == tree)
            number = -2 - tree
            leaves[rows] = self.first_leaf[number] + assign(self.trees[number], points[rows])
        return leaves

    def cells_of(self, leaves: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cell of each record by its leaf and number; DROPPED for records that are left out."""
        assert self.cell_of is not None
        cells = np.where(leaves == DROPPED, DROPPED, self.cell_of[leaves])
        if self.dealt is not None and (self.dealt > 1).any():
            among = np.where(leaves == DROPPED, 1, self.dealt[leaves])
            cells += (row_hashes(rows) % among.astype(np.uint64)).astype(np.int64)
        return cells

    def pieces(self, rows: int) -> list[slice]:
        """A cell in pieces that can be worked on: one, unless equal records made it far too large.

        Equal records cannot be told apart by planes, and groups of them lose nothing.
        """
        whole = self.cell_rows is None or self.dealt is not None
        count = 1 if whole else max(1, rows // (4 * self.cell_rows))  # type: ignore[operator]
        borders = np.linspace(0, rows, count + 1).astype(int).tolist()
        return [slice(*borders[place : place + 2]) for place in range(count)]

    def with_counts(self, counts: NDArray[np.int64], judge: Judge | None = None) -> Self:
        """The plan once the units of each leaf were counted: leaves with too few are merged.

        judge: where more is demanded than k, says which leaves can keep it.
        """
        cell_of = np.arange(self.leaves)
        for number, tree in enumerate(self.trees):
            first = int(self.first_leaf[number])
            last = first + tree.n_cells
            is_enough = None if judge is None else partial(_is_enough, judge, first)
            merged = merge_small(tree, counts[first:last], self.recipe.k, is_enough)
            cell_of[first:last] = first + merged
        numbered = np.unique(cell_of, return_inverse=True)[1]
        if not self.demanding:
            return replace(self, cell_of=numbered)
        among = np.ones(int(numbered.max()) + 1, np.int64)
        for cell in range(among.size if judge is not None and self.cell_rows is not None else 0):
            leaves = np.flatnonzero(numbered == cell)
            units = int(counts[leaves].sum())
            if units >= 2 * self.cell_rows:  # type: ignore[operator]
                needed = max(float(self.cell_rows or 1), judge.needed(leaves))  # type: ignore
                among[cell] = max(1, int(units / needed))
        firsts = np.cumsum(among) - among
        return replace(self, cell_of=firsts[numbered], dealt=among[numbered])

    def to_json(self) -> str:
        """The plan as text; `from_json` makes the same of it to the last bit."""
        told = {
            "microagg_plan": 1,
            "recipe": self.recipe.to_dict(),
            "source": dict(self.source),
            "method": self.method,
            "options": dict(self.options),
            "called": self.called,
            "rows": self.rows,
            "cell_rows": self.cell_rows,
            "columns": [coding.to_dict() for coding in self.codings],
            "types": _packed(pa.schema([(c.name, c.type) for c in self.codings]).empty_table()),
            "categories": [
                None if c.categories is None else _packed(pa.table([c.categories], ["categories"]))
                for c in self.codings
            ],
            "trees": [tree.to_dict() for tree in self.trees],
            "first_leaf": self.first_leaf.tolist(),
            "leaves": self.leaves,
            "strata": None if self.strata is None else _packed(self.strata.table),
            "stratum_of": _listed(self.stratum_of),
            "strata_leaf": _listed(self.strata_leaf),
            "small": self.small,
            "moved": self.moved,
            "cell_of": _listed(self.cell_of),
            "dealt": _listed(self.dealt),
        }
        return json.dumps(told)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The plan that `to_json` wrote down."""
        try:
            told = json.loads(text)
            types = _unpacked(told["types"]).schema
            categories = [
                None if packed is None else _unpacked(packed).column(0).combine_chunks()
                for packed in told["categories"]
            ]
            return cls(
                recipe=Recipe(**told["recipe"]),
                source=told["source"],
                method=told["method"],
                options=told["options"],
                called=told["called"],
                rows=told["rows"],
                cell_rows=told["cell_rows"],
                codings=tuple(
                    Coding.from_dict(plain, types.field(place).type, categories[place])
                    for place, plain in enumerate(told["columns"])
                ),
                trees=tuple(CellTree.from_dict(tree) for tree in told["trees"]),
                first_leaf=np.array(told["first_leaf"], np.int64),
                leaves=told["leaves"],
                strata=None if told["strata"] is None else Strata(_unpacked(told["strata"])),
                stratum_of=_array(told["stratum_of"]),
                strata_leaf=_array(told["strata_leaf"]),
                small=told["small"],
                moved=told["moved"],
                cell_of=_array(told["cell_of"]),
                dealt=_array(told["dealt"]),
            )
        except (KeyError, TypeError, ValueError, pa.ArrowException):
            raise InputError("the saved plan is damaged; plan anew, without it") from None


def rows_at_once(codings: Sequence[Coding]) -> int:
    """Among how many rows of such columns neighbours can be looked for."""
    crowded = sum(coding.width for coding in codings if coding.place.crowded)
    return min(CELL_ROWS, _CROWD // max(1, crowded))


def _is_enough(judge: Judge, first: int, leaves: NDArray[np.int64]) -> bool:
    return judge.is_enough(first + leaves)


def _packed(table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode()


def _unpacked(text: str) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(text)).read_all()


def _listed(array: NDArray[np.int64] | None) -> list[int] | None:
    return None if array is None else array.tolist()


def _array(listed: list[int] | None) -> NDArray[np.int64] | None:
    return None if listed is None else np.array(listed, np.int64)
