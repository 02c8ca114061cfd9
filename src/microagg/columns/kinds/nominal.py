"""Categories without an order."""

import pyarrow as pa

from microagg.columns.kinds.categories import Categories
from microagg.columns.text import is_text


class Nominal(Categories):
    """Text and unordered categories; a group publishes its commonest category."""

    name = "nominal"
    treatment = "replaced by the commonest category of its group"

    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Text, dictionaries without an order, and columns of which nothing is known."""
        if pa.types.is_dictionary(column_type):
            return not column_type.ordered
        return is_text(column_type) or bool(pa.types.is_null(column_type))


KIND = Nominal()
