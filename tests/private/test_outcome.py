"""A private release goes out like any other: whole, checked, never over its input."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg.private
from microagg.base.errors import OptionError

SETTINGS = {"epsilon": 1.0, "bounds": {"age": (0, 110)}, "method": "marginals", "simulate": True}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "survey.parquet"
    pq.write_table(pa.table({"age": np.arange(40.0)}), path)
    return path


def test_the_input_is_never_replaced(tmp_path, source):
    before = source.read_bytes()
    found = microagg.private.release(source, **SETTINGS)
    (tmp_path / "link.parquet").symlink_to(source)
    for target in (source, tmp_path / "." / "survey.parquet", tmp_path / "link.parquet"):
        with pytest.raises(OptionError, match="never written over"):
            found.write(target, force=True)
    assert source.read_bytes() == before


def test_an_input_table_is_never_replaced(tmp_path):
    pytest.importorskip("adbc_driver_sqlite")
    address = f"sqlite:///{tmp_path}/survey.db#people"
    microagg.protect(pa.table({"age": np.arange(40.0)}), k=1, quasi_identifiers="age").write(
        address
    )
    found = microagg.private.release(address, **SETTINGS)
    with pytest.raises(OptionError, match="never written over"):
        found.write(address, force=True)
    found.write(f"sqlite:///{tmp_path}/survey.db#noisy")


def test_the_certificate_appears_with_its_release_or_not_at_all(tmp_path, source, monkeypatch):
    target = tmp_path / "release.csv"
    found = microagg.private.release(source, **SETTINGS)
    found.write(target)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert json.loads((tmp_path / "release.csv.certificate.json").read_text())["rows"] == 40
    again = microagg.private.release(source, **SETTINGS)

    def full(stream, *more, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("json.dump", full)
    with pytest.raises(OSError, match="No space"):
        again.write(target, force=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
