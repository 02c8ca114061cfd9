import json

import numpy as np
import pandas as pd
import pytest

import microagg
from microagg.base.errors import InputError, OptionError


def people(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pay": rng.normal(0, 1, n),
            "age": rng.integers(18, 90, n),
            "city": np.array(["a", "b"])[np.arange(n) % 2],
            "home": np.arange(n) // 2,
        }
    )


SETTINGS = {"k": 4, "quasi_identifiers": ["pay", "age"]}


def released(method, **settings):
    return microagg.protect(people(), method=method, **{**SETTINGS, **settings})


def test_groups_of_ones_own_get_a_certificate_and_a_report(tmp_path):
    own = microagg.partition(people()[["pay", "age"]].to_numpy(), 4, "zscore")
    release = released(own)
    assert release.partition.labels.tolist() == own.labels.tolist()
    certificate = release.write(tmp_path / "r.csv")
    assert certificate.passed
    assert certificate.method == "given groups"
    record = json.loads((tmp_path / "r.csv.record.json").read_text())
    assert record["recipe"]["method"] == "given groups"
    release.report(tmp_path / "r.html")
    # The same as the method that made them.
    same = released("zscore", quasi_identifiers=["pay", "age"])
    pd.testing.assert_frame_equal(release.data, same.data)
    assert release.record.information_loss == same.record.information_loss


def test_a_function_is_given_points_and_k():
    asked = []

    def by_first(points, k):
        asked.append((points.shape, k))
        return np.argsort(np.argsort(points[:, 0])) // k

    release = released(by_first)
    assert asked == [((40, 2), 4)]
    rank = people()["pay"].rank().to_numpy().astype(int) - 1
    assert len({*zip(release.partition.labels.tolist(), (rank // 4).tolist(), strict=True)}) == 10


@pytest.mark.parametrize(
    ("labels", "settings", "words"),
    [
        (np.arange(40) // 3, {}, "at least k = 4 records, but 14 of 14"),
        (np.arange(39) // 4, {}, "39 labels for 40 records"),
        (np.arange(40) / 3, {}, "whole numbers"),
        (np.arange(40) // 4, {"within": "city"}, "cross strata"),
        (np.arange(40) % 10, {"entity": "home"}, "entities apart"),
        (np.arange(40) // 4, {"entity": "home"}, "at least k = 4 entities"),
    ],
)
def test_groups_that_do_not_do_are_refused(labels, settings, words):
    with pytest.raises(InputError, match=words):
        released(lambda *_: labels, **settings)


def test_strata_and_entities_that_fit():
    labels = np.arange(40) // 2 // 4 * 2 + np.arange(40) % 2
    assert released(lambda *_: labels, within="city").certificate.passed
    assert released(lambda *_: np.arange(40) // 8, entity="home").certificate.passed


def test_where_groups_cannot_be_given(tmp_path):
    people().to_csv(tmp_path / "t.csv", index=False)
    own = microagg.partition(people()[["pay"]].to_numpy(), 4)
    for engine in ("disk", "spark"):
        with pytest.raises(OptionError, match="in memory"):
            microagg.protect(tmp_path / "t.csv", method=own, engine=engine, **SETTINGS)
    for more in ({"refine": True}, {"cell_rows": 20}):
        with pytest.raises(OptionError, match="given groups"):
            released(own, **more)
    with pytest.raises(OptionError, match="protect\\(table, method=partition"):
        released("given groups")
    with pytest.raises(OptionError, match="a name, a Partition or a function"):
        released(7)
