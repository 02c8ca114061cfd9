"""Linkage: whose record, and whose class, is found by somebody who knows people's values."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from microagg.measure.attacks.attack import Attack, Found, Scene, Share
from microagg.measure.attacks.guessing import percent, told_by_member
from microagg.measure.attacks.words import listed, right_about, share
from microagg.measure.compared import Compared


def _nearest(scene: Scene) -> list[Found]:
    links = scene.evidence.links
    records = Share(links.expected, 100.0 / scene.n)
    values = learnt(scene.unknown, scene.looks[links.rows], scene.looks, scene.sd)
    words = (
        f"Who knows {listed(scene.known)} of a person and takes the nearest released record, by "
        f"lot among equals, has the right one for {share(records)} of the records"
    )
    return [Found(words + right_about(values), records, values)]


def learnt(
    columns: Sequence[Compared], asked: NDArray[np.int64], looks: NDArray[np.int64], sd: float
) -> Share | None:
    """What is learnt of columns that were not known, from a record that looks so, drawn by lot.

    asked: how the record looks that each person is linked to, -1 for none; looks: each record's.
    """
    if not columns:
        return None
    everybody = np.zeros(looks.size, np.int64)
    shares = [
        percent(
            [told_by_member(column, who, labels, column.reach(sd)) for column in columns], columns
        )
        for who, labels in ((asked, looks), (everybody, everybody))
    ]
    return Share(*shares)


def _class(scene: Scene) -> list[Found]:
    links, sizes = scene.evidence.links, np.bincount(scene.looks)
    records = Share(links.by_class, 100.0 * float(np.square(sizes / scene.n).sum()))
    values = _shared(scene)
    words = (
        f"Who knows {listed(scene.known)} of a person finds the class of records that the person "
        f"is in for {share(records)} of the records"
    )
    if values is not None:
        words += (
            f", and {share(values)} of all values that were not known follow, for the whole class "
            "shares one"
        )
    return [Found(words + ".", records, values)]


def _shared(scene: Scene) -> Share | None:
    """The values of what was not known that follow from a class which shares one value.

    Only of those whose class is found: the first of equally near ones.
    """
    columns = scene.unknown
    if not columns:
        return None
    right = scene.looks[scene.evidence.links.rows] == scene.looks
    everybody = np.zeros(scene.n, np.int64)
    told = [right & (_told(column, scene.looks, scene.sd) == 1.0) for column in columns]
    alone = [_told(column, everybody, scene.sd) == 1.0 for column in columns]
    return Share(percent(told, columns), percent(alone, columns))


def _told(column: Compared, labels: NDArray[np.int64], sd: float) -> NDArray[np.float64]:
    """The chance that a member of each record's own class tells its value."""
    return told_by_member(column, labels, labels, column.reach(sd))


NEAREST = Attack(
    "nearest",
    "Nearest record",
    ("singling out", "linkability"),
    "The known columns of everybody.",
    "Each person is linked to the released record that is nearest by the columns known, numbers in "
    "deviations, any two categories equally far apart; by lot among equally near ones.",
    "those linked to themselves",
    "values of columns not known that the linked record tells, the first of equally near ones",
    "a record drawn by lot",
    _nearest,
    ("records",),
)
CLASS = Attack(
    "class",
    "Class",
    ("linkability",),
    "The known columns of everybody.",
    "Each person is linked to the nearest class of records that look alike in the columns known.",
    "those whose class is found",
    "values of columns not known that all records of a class share that is rightly found, the "
    "first of equally near ones",
    "the class of a record drawn by lot",
    _class,
    ("records",),
)
