import json

import numpy as np
import pyarrow as pa
import pytest

import microagg
from microagg.base.errors import InputError
from microagg.base.reading import Reading
from microagg.table.opening import open_table


def opened(path, text):
    path.write_text(text, encoding="utf-8")
    frame = open_table(path, Reading()).frame
    return {name: frame.column(name) for name in frame.names}


def test_columns_are_what_all_records_say(tmp_path):
    lines = [
        {"age": 3, "pay": 1, "name": "ü", "born": "1966-11-25", "yes": True, "no day": "1966-11"},
        {"pay": 2.5, "age": None, "name": "007", "born": None, "yes": False, "no day": "1966-11"},
        {"late": 1, "born": "2000-02-29"},
    ]
    found = opened(tmp_path / "t.jsonl", "\n\n".join(map(json.dumps, lines)))
    assert {name: str(array.type) for name, array in found.items()} == {
        "age": "int64",
        "pay": "double",
        "name": "string",
        "born": "date32[day]",
        "yes": "bool",
        "no day": "string",
        "late": "int64",
    }
    assert found["age"].to_pylist() == [3, None, None]
    assert found["late"].to_pylist() == [None, None, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n[4711]', "near line 2"),
        ('{"a": 4711', "near line 1"),
        ('{"a": NaN}', "near line 1"),
        ('{"a": 1}\n{"a": "4711"}', "mixes"),
        ('{"a": [4711]}', "lists"),
        ('{"a": 4711111111111111111111111}', "64 bits"),
        ("", "empty"),
        ("{}", "no columns"),
    ],
)
def test_what_is_none_is_one_sentence(tmp_path, text, words):
    with pytest.raises(InputError, match=words) as refused:
        opened(tmp_path / "t.ndjson", text)
    assert "4711" not in str(refused.value)


def test_in_and_out(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"age": int(age), "note": "x"} for age in rng.integers(18, 90, 50)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    release = microagg.protect(tmp_path / "t.jsonl", k=3, quasi_identifiers="age")
    assert release.write(tmp_path / "r.ndjson").passed
    back = [json.loads(line) for line in (tmp_path / "r.ndjson").read_text().splitlines()]
    assert sorted(each["age"] for each in back) == sorted(release.data["age"].to_pylist())


def test_batches_of_arrow_are_tables():
    table = pa.table({"age": np.arange(20), "pay": np.arange(20) * 0.5})
    settings = {"k": 3, "quasi_identifiers": ["age", "pay"], "method": "mdav"}
    plain = microagg.protect(table, **settings).data
    (batch,) = table.to_batches()
    assert microagg.protect(batch, **settings).data.equals(plain)
    assert microagg.protect(table.to_reader(6), **settings).data.equals(plain)
