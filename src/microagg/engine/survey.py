"""One look at every row of a table, in parts: all that a plan is made from."""

from collections.abc import Sequence
from functools import partial
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.columns.coded import encode
from microagg.columns.coding import Observed
from microagg.columns.households import Households, household_codes
from microagg.columns.secrets import ObservedSecret, Secret, Stays
from microagg.engine.sample import SAMPLED, Sample
from microagg.engine.strata import ObservedStrata, without_levels
from microagg.kernels.threads import run_each
from microagg.table.frames import in_one_piece
from microagg.table.opening import Origin

_PLAIN = Origin("table", "frame", Reading())

# Enough to see which columns tell each other, few enough to hold all columns of.
_KEPT = 1 << 14
# Threads get in each other's way where a column is looked at in no time.
_ALONE = 1 << 12


class Survey:
    """One look at every row, in parts: what the columns and strata are, and samples.

    units: what k counts: rows, or entities where the recipe names some.
    households: the different ones, where k counts them; as many as are held.
    sample: rows with the columns that a release is made from; kept: fewer, with all that stay.
    """

    def __init__(
        self,
        recipe: Recipe,
        schema: pa.Schema,
        sampled: int = SAMPLED,
        origin: Origin = _PLAIN,
        held: int | None = None,
    ) -> None:
        """held: how many households are enough to know of; all if None."""
        self.recipe, self.origin = recipe, origin
        self.rows = self.units = 0
        self.columns = [
            Observed(name, schema.field(name).type, *declared(name, recipe, origin))
            for name in recipe.quasi_identifiers
        ]
        self.confidential = [
            ObservedSecret(
                name,
                schema.field(name).type,
                origin,
                recipe.kinds.get(name),
                recipe.orders.get(name),
            )
            for name in recipe.confidential
        ]
        self.strata = ObservedStrata(recipe.within, held=held) if recipe.within else None
        self.households = None if recipe.household is None else Households(held)
        self.sample, self.kept = Sample(sampled), Sample(_KEPT)
        self.weight = 0.0

    def add(
        self,
        part: pa.RecordBatch,
        rows: NDArray[np.int64],
        units: NDArray[np.int64] | None = None,
    ) -> None:
        """Take the next part.

        rows: the number of each of its rows; units: a row of each unit, where these are not rows.
        """
        self.rows += part.num_rows
        self.units += part.num_rows if units is None else units.size
        looks = [partial(column.add, part.column(column.name)) for column in self.columns]
        run_each(looks, None if part.num_rows > _ALONE else 1)
        table = pa.Table.from_batches([part])
        codes = households_of(self.recipe, part, self.origin)
        if self.households is not None and codes is not None:
            self.households.add(np.zeros(codes.size, np.int64), codes)
        if self.strata is not None:
            self.strata.add(table.select(self.recipe.within), units, codes)
        leaves_out = bool(self.recipe.within) and self.recipe.small_strata == "drop"
        strata = without_levels(table.select(self.recipe.within)) if leaves_out else None
        for secret in self.confidential:
            secret.add(part.column(secret.name), strata)
        if self.recipe.weights is not None:
            self.weight += float(weights_of(self.recipe, part).sum())
        self.sample.add(table.select(grouped_columns(self.recipe)), rows)
        self.kept.add(table, rows)

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other rows, the larger sample excepted."""
        self.rows += other.rows
        self.units += other.units
        self.weight += other.weight
        for column, theirs in zip(self.columns, other.columns, strict=True):
            column.merge(theirs)
        for secret, others in zip(self.confidential, other.confidential, strict=True):
            secret.merge(others)
        if self.strata is not None and other.strata is not None:
            self.strata.merge(other.strata)
        if self.households is not None and other.households is not None:
            self.households.merge(other.households)
        self.kept.merge(other.kept)

    def secrets(self, origin: Origin, stays: Stays | None = None) -> tuple[Secret, ...]:
        """How confidential columns are read, those that can be counted; origin: of the release;
        stays: which rows do, once there is a plan."""
        found = (column.secret(origin, stays) for column in self.confidential)
        return tuple(secret for secret in found if secret is not None)


def declared(
    name: str, recipe: Recipe, origin: Origin
) -> tuple[str | None, tuple[str, ...] | None]:
    """The kind and the order of a column: what the recipe says, or else the input itself."""
    kind, order = recipe.kinds.get(name), recipe.orders.get(name)
    return (origin.kind_of(name) if kind is None and order is None else kind), order


def grouped_columns(recipe: Recipe) -> list[str]:
    """The columns that grouping and figures need, each once."""
    names = [*recipe.quasi_identifiers, *recipe.within, *recipe.confidential]
    names += [name for name in (recipe.weights, recipe.household) if name is not None]
    return list(dict.fromkeys(names))


def surveyed_columns(recipe: Recipe, names: Sequence[str]) -> list[str]:
    """The columns of a table that a survey looks at: also those that stay as they are, which may
    tell protected ones, and those dropped, where rows keep their order, which may tell them."""
    dropped = () if recipe.row_order == "kept" else recipe.identifiers
    others = (name for name in names if name not in dropped)
    return list(dict.fromkeys([*grouped_columns(recipe), *others]))


def weights_of(recipe: Recipe, part: pa.RecordBatch | pa.Table) -> NDArray[np.float64]:
    """The sampling weights of some rows, checked."""
    assert recipe.weights is not None
    column = encode(recipe.weights, piece(part, recipe.weights), "continuous")
    if column.missing is not None or (column.values < 0.0).any():
        raise bad_weights(recipe.weights)
    return column.values.astype(np.float64)


def households_of(
    recipe: Recipe, part: pa.RecordBatch | pa.Table, origin: Origin
) -> NDArray[np.int64] | None:
    """The household of each row as a whole number; None where k does not count them."""
    if recipe.household is None:
        return None
    return household_codes(recipe.household, piece(part, recipe.household), origin)


def bad_weights(name: str) -> InputError:
    """What is wrong with weights that are."""
    return InputError(
        f"column {name!r} holds sampling weights, which must be numbers of 0 or more, not all 0 "
        "and none missing"
    )


def piece(part: pa.RecordBatch | pa.Table, name: str) -> pa.Array:
    """A column of some rows, in one piece."""
    column = part.column(name)
    return in_one_piece(column) if isinstance(column, pa.ChunkedArray) else column
