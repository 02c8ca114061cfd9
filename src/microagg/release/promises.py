"""What a release promises: each promise is one object that the release is held against.

To add a promise, write a class like those below and put it into `PROMISES`: the certificate, the
report and the shared tests read it from there.
"""

from collections.abc import Sequence
from typing import Protocol

from microagg.base.certificate import Check
from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount


class Promise(Protocol):
    """Something that every release of some recipes keeps."""

    def sentence(self, recipe: Recipe) -> str:
        """The promise in words, as certificate and report say it."""

    def is_kept(self, recipe: Recipe, recount: Recount) -> bool | None:
        """Whether what was counted keeps it; None where that cannot be told yet."""

    def is_asked(self, recipe: Recipe) -> bool:
        """Whether a release of this recipe promises it."""


class Complete:
    """Nothing is lost on the way out."""

    def sentence(self, recipe: Recipe) -> str:  # noqa: ARG002
        """The promise in words."""
        return "every row and column is there"

    def is_kept(self, recipe: Recipe, recount: Recount) -> bool | None:  # noqa: ARG002
        """Told once the release was read back."""
        return recount.complete

    def is_asked(self, recipe: Recipe) -> bool:  # noqa: ARG002
        """Always."""
        return True


class Untouched(Complete):
    """What nobody asked to protect stays as it is."""

    def sentence(self, recipe: Recipe) -> str:  # noqa: ARG002
        """The promise in words."""
        return "columns that nobody asked to protect are as they were"

    def is_kept(self, recipe: Recipe, recount: Recount) -> bool | None:
        """Told once the release was read back, column by column."""
        if not recount.complete:
            return None
        protected = set(recipe.quasi_identifiers)
        return all(same for name, same in recount.same.items() if name not in protected)


class Published(Complete):
    """What groups publish is what stands there."""

    def sentence(self, recipe: Recipe) -> str:  # noqa: ARG002
        """The promise in words."""
        return "protected columns hold the published values"

    def is_kept(self, recipe: Recipe, recount: Recount) -> bool | None:
        """Told once the release was read back, column by column."""
        if not recount.complete:
            return None
        return all(recount.same[name] for name in recipe.quasi_identifiers)


class Anonymity(Complete):
    """k-anonymity: nobody can be told from k - 1 others by the quasi-identifiers."""

    def sentence(self, recipe: Recipe) -> str:
        """The promise in words."""
        units = "records" if recipe.entity is None else "entities"
        return f"at least {recipe.k} {units} share each combination of values"

    def is_kept(self, recipe: Recipe, recount: Recount) -> bool | None:
        """Counted over the classes of equal released values."""
        return None if recount.classes is None else recount.classes.k >= recipe.k


PROMISES: Sequence[Promise] = (Complete(), Untouched(), Published(), Anonymity())


def checks(recipe: Recipe, recount: Recount) -> tuple[Check, ...]:
    """Every promise of a recipe that can be told of, and whether it is kept."""
    held = (
        (promise.sentence(recipe), promise.is_kept(recipe, recount))
        for promise in PROMISES
        if promise.is_asked(recipe)
    )
    return tuple(Check(sentence, kept) for sentence, kept in held if kept is not None)
