"""The grouping methods there are."""

from typing import Any

from microagg.grouping.methods import all_methods


def describe_methods() -> list[dict[str, Any]]:
    """Every grouping method as plain data, with what its options mean."""
    return [
        {
            "name": method.name,
            "description": method.description,
            "time": method.time,
            "paper": method.paper,
            "options": {option.name: option.meaning for option in method.options},
        }
        for method in all_methods()
    ]
