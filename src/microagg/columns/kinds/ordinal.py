"""Categories in an order."""

import pyarrow as pa

from microagg.aggregation.centres import medians
from microagg.base.errors import OptionError
from microagg.columns.kinds.categories import Categories
from microagg.columns.text import is_text


class Ordinal(Categories):
    """Ranks: neighbours in the order are one apart; a group publishes its median category."""

    name = "ordinal"
    treatment = "replaced by the median category of its group"
    numeric = True
    centre = staticmethod(medians)

    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Dictionaries with an order."""
        return bool(pa.types.is_dictionary(column_type) and column_type.ordered)

    def check_categories(self, name: str, categories: pa.Array, ordered: bool) -> None:
        """Words have no order of their own."""
        if len(categories) and is_text(categories.type) and not ordered:
            raise OptionError(
                f"column {name!r} is ordinal, but nothing says in which order; "
                f"list its categories, lowest first: orders={{{name!r}: [...]}}"
            )


KIND = Ordinal()
