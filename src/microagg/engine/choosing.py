"""Which engine a table is protected with, and how much memory that takes."""

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from microagg.base.errors import InputError, OptionError
from microagg.base.memory import addresses_left, available_memory
from microagg.base.progress import Advance
from microagg.base.recipe import Recipe
from microagg.base.texts import size
from microagg.engine.block import Given
from microagg.engine.plan import CELL_ROWS, Plan
from microagg.engine.protocol import Engine, refuse_bound, refuse_in_parts
from microagg.grouping.methods import GIVEN
from microagg.table.opening import STANDARD_STREAM, open_table
from microagg.table.streams import estimated_size, open_stream

ENGINES = ("auto", "memory", "disk", "spark")
# Whatever the size of the table, work in parts takes this.
LEAST_MEMORY = 10**9
# A table in memory is held about so many times, all in all.
_TABLE_COPIES = 4
# Of the records of a cell: as numbers before and after, where they stand, and indexes on that.
_CELL_COPIES = 6


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where a release is made; none of this changes what is published.

    engine: memory, disk, spark, or auto: memory if the table fits.
    memory: about how much may be used, such as "4GB"; what is free otherwise.
    work: the folder that the disk engine works in; resume: go on where a run was cut off there.
    master, session: of Spark.
    """

    engine: str = "auto"
    memory: int | str | None = None
    work: str | os.PathLike[str] | None = None
    resume: bool = False
    master: str | None = None
    session: Any = None

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise OptionError(f"there is no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        if self.memory is not None and bytes_of(self.memory) < LEAST_MEMORY:
            raise OptionError(
                f"memory is {self.memory}, but at least {LEAST_MEMORY / 1e9:g}GB are needed, "
                "whatever the size of the table; give that"
            )

    def settings(self) -> dict[str, Any]:
        """By name, as `protect` takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def allowed(self) -> int | None:
        """Bytes that may be used; None where nothing tells."""
        return available_memory() if self.memory is None else bytes_of(self.memory)

    def settled(self, table: Any) -> str:
        """The engine for a table."""
        chosen = self.engine if self.engine != "auto" else self._automatic(table)
        if chosen != "spark" and (self.master, self.session) != (None, None):
            raise OptionError("master and session are Spark's; say engine=spark too")
        if chosen != "disk" and self.resume:
            raise OptionError("resume goes on with a run on disk; say engine=disk, or leave it out")
        return chosen

    def _automatic(self, table: Any) -> str:
        if _is_of_spark(table):
            return "spark"
        if not isinstance(table, str | os.PathLike):
            return "memory"
        address = os.fspath(table)
        if self.resume or (address != STANDARD_STREAM and Path(address).is_dir()):
            return "disk"
        size, allowed = estimated_size(address), self.allowed
        fits = size is None or allowed is None or memory_for_table(size) <= allowed
        return "memory" if fits else "disk"


def choose_engine(
    table: Any,
    recipe: Recipe,
    where: Where,
    advance: Advance,
    prove: float = 0.0,
    given: Given = None,
) -> Engine:
    """Open a table where it is to be protected; given: what makes its groups, if somebody does."""
    chosen = where.settled(table)
    _refuse_beyond_limits(table, chosen)
    if given is not None and (chosen != "memory" or recipe.refine or recipe.cell_rows):
        raise OptionError(
            f"{GIVEN} are of a whole table in memory, as they are: leave out engine, refine and "
            "cell_rows, or name a method"
        )
    refuse_bound(recipe, prove)
    if chosen != "memory":
        refuse_in_parts(recipe, prove)
    reading, typed = recipe.reading, recipe.understood
    if chosen == "memory":
        from microagg.engine.memory import Memory

        named = recipe.columns()
        return Memory(open_table(table, reading, typed, advance, named), recipe, given=given)
    if chosen == "spark":
        from microagg.engine.spark.engine import Spark

        return Spark(table, recipe, where.master, where.session)
    from microagg.engine.disk.engine import Disk

    if not isinstance(table, str | os.PathLike):
        raise in_memory_already()
    stream = open_stream(table, reading, typed=typed, advance=advance)
    work = None if where.work is None else Path(where.work)
    return Disk(stream, recipe, work, resume=where.resume, allowed=where.allowed)


def in_memory_already() -> InputError:
    """What is wrong with a frame where the disk is asked for."""
    return InputError(
        "a table that is in memory is protected there: leave out engine=disk, or give the path "
        "of a file"
    )


def _refuse_beyond_limits(table: Any, chosen: str) -> None:
    """Refuse a table that the limits of this process do not hold: libraries may not survive it."""
    left = addresses_left()
    if left is None or chosen != "memory" or not isinstance(table, str | os.PathLike):
        return
    needed = memory_for_table(estimated_size(table) or 0)
    if needed > left:
        raise OptionError(
            f"in memory this takes about {needed / 1e9:.1f} GB, but this process may use "
            f"{left / 1e9:.1f} GB more (ulimit -v or -d); say engine=disk to work on it in parts, "
            "or raise the limit"
        )


def memory_for_table(size: int) -> float:
    """Bytes that protecting a table in memory takes; size: what the table alone takes."""
    return _TABLE_COPIES * size + LEAST_MEMORY / 2


def memory_for_cells(plan: Plan) -> float:
    """Bytes that the cells of a plan take which are worked on at the same time, in parts."""
    rows = plan.rows if plan.cell_rows is None else min(plan.rows, 2 * plan.cell_rows)
    return LEAST_MEMORY / 2 + rows * _memory_for_record(plan)


def cells_at_once(plan: Plan, allowed: int | None) -> int:
    """How many cells of a plan may be worked on at the same time: two, or what half of it holds."""
    if allowed is None or plan.cell_rows is None:
        return 2
    return max(2, int(allowed / 2 / (plan.cell_rows * _memory_for_record(plan))))


def _memory_for_record(plan: Plan) -> float:
    return 8.0 * (len(plan.codings) + plan.width) * _CELL_COPIES


def refuse_large_cells(plan: Plan, engine: Engine, where: Where) -> None:
    """Refuse cells that an engine which works in parts cannot hold."""
    elsewhere = engine.memory if where.memory is None else None
    allowed = elsewhere or where.allowed
    if engine.name == "memory" or allowed is None:
        return
    needed = memory_for_cells(plan)
    if needed > allowed:
        fitting = int((allowed - LEAST_MEMORY / 2) / _memory_for_record(plan) / 2)
        fitting = min(CELL_ROWS, fitting - fitting % max(1, 10 ** (len(str(fitting)) - 1)))
        divided = f"say cell_rows={fitting} to divide them, or "
        raise OptionError(
            f"{plan.called} would group {'all' if plan.cell_rows is None else plan.cell_rows} "
            f"records at once, which takes about {needed / 1e9:.1f} GB, but {allowed / 1e9:.1f} GB "
            f"may be used; {divided if fitting >= 4 * plan.recipe.k else ''}allow more memory"
        )


def bytes_of(memory: int | str) -> int:
    """A number of bytes, or a text such as "4GB" or "500 MB"."""
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    return size(str(memory), "memory")


def _is_of_spark(table: Any) -> bool:
    """Whether a table is Spark's; asked of its type, so that nobody else need have Spark."""
    return any(each.__module__.startswith("pyspark.") for each in type(table).__mro__)
