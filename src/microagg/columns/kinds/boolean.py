"""Two categories."""

import pyarrow as pa

from microagg.base.errors import InputError
from microagg.columns.kinds.categories import Categories


class Boolean(Categories):
    """Columns of at most two values; a group publishes the commoner one."""

    name = "boolean"
    treatment = "replaced by the commoner value of its group"

    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Booleans."""
        return bool(pa.types.is_boolean(column_type))

    def check_categories(self, name: str, categories: pa.Array, ordered: bool) -> None:
        """There are two at most."""
        if len(categories) > 2:
            raise InputError(
                f"column {name!r} was declared boolean, but it has {len(categories)} different "
                "values"
            )


KIND = Boolean()
