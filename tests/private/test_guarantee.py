"""The promise says no more than holds."""

from microagg.private import release

X = [[1.0, 2.0], [3.0, 4.0], [2.0, 9.0], [0.0, 5.0]]
BOUNDS = {"0": (0, 4), "1": (0, 10)}


def guarantee(method, bounds=BOUNDS):
    return release(X, epsilon=1.0, bounds=bounds, method=method).guarantee


def test_the_words_on_group_sizes():
    word = "partition-conditional"
    made = release(X, epsilon=1.0, bounds=BOUNDS, method="optimal", k=2, accept=word)
    assert "the least group size (2), the columns' names" in made.guarantee.text
    assert "the group size k (2), the columns' names" in (
        release(X, epsilon=1.0, bounds=BOUNDS, method="marginals", k=2).guarantee.text
    )
    assert "records (4), the columns' names" in guarantee("records").text


def test_bounds_from_the_data_leak():
    found = guarantee("marginals", bounds="from-data")
    assert found.bounds_leaked
    assert not found.private
    assert not found.standard
    assert found.definition.startswith("none")
    assert found.text.startswith("BOUNDS FROM THE DATA, NOT PRIVATE")
    assert "bounds" not in found.public
    assert "least and the greatest value" in found.not_protected[0]
    assert not guarantee("marginals").bounds_leaked


def test_nothing_in_it_depends_on_the_data():
    one = guarantee("marginals").to_dict()
    other = release(
        [[0.0, 0.0]] * 4, epsilon=1.0, bounds=BOUNDS, method="marginals"
    ).guarantee.to_dict()
    assert one == other
