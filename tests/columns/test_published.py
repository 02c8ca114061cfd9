"""What the groups publish."""

from decimal import Decimal

import pyarrow as pa
import pytest

from microagg.columns.published import to_digits


@pytest.mark.parametrize(
    ("given", "digits", "meant"),
    [
        ([1234.5678, 0.00012345, -98765.4, 0.0, None], 2, [1200.0, 0.00012, -99000.0, 0.0, None]),
        ([1e300, 5e-324, float("inf")], 3, [1e300, 5e-324, float("inf")]),
        ([123456, -7, 0, 2**62], 2, [120000, -7, 0, 46 * 10**17]),
        ([Decimal("12.3456"), Decimal("0.0049")], 2, [Decimal("12.0000"), Decimal("0.0049")]),
    ],
)
def test_significant_digits(given, digits, meant):
    column = pa.array(given)
    found = to_digits(column, digits)
    assert found.type == column.type
    assert found.to_pylist() == meant
    assert to_digits(pa.chunked_array([column, column]), digits).to_pylist() == meant * 2
