"""What a promise is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from microagg.base.certificate import Found
from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount
from microagg.measure.anonymity import ClassCount


@dataclass(frozen=True)
class Promise:
    """Something that every release of some recipes keeps: one object that it is held against.

    sentence: in words, as certificate and report say it.
    is_kept: whether what was counted keeps it; None where that cannot be told yet.
    is_asked: whether a release of a recipe promises it.
    counts: what is to be counted of confidential columns over classes, which `Recount.counts` then
        holds, by the key of the count; every engine does it, on what was written and read back.
    found: what was asked of each column and what was found, where that may be told to everybody.
    """

    sentence: Callable[[Recipe], str]
    is_kept: Callable[[Recipe, Recount], bool | None]
    is_asked: Callable[[Recipe], bool] = lambda _recipe: True
    counts: Callable[[Recipe], Sequence[ClassCount]] = lambda _recipe: ()
    found: Callable[[Recipe, Recount], tuple[Found, ...]] = lambda _recipe, _recount: ()
