"""Release: a protected table, and how it goes out: written, read back, checked, named."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from microagg.base.certificate import Certificate
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.base.recipe import Recipe
from microagg.engine.counting import Wanted
from microagg.engine.protocol import Engine, Recount
from microagg.release.assessment import Assessment
from microagg.release.judging import Shown
from microagg.release.output import open_place
from microagg.release.promises import checks
from microagg.table.classes import Classes
from microagg.table.opening import Origin


class Release:
    """A protected table and what is known of it; nothing of the original but sums over many.

    recipe: the settings it was made with.
    engine: where it was made: memory, disk or spark. What is published does not depend on it.
    keeps_order: whether its rows are in the order of the input.
    counted: the columns in which at least k records share each combination of values.
    shown: what pages show of its columns.

    On disk it needs room until it is closed, or until nobody holds it any more; on Spark until it
    is closed: use it in a `with` statement, or call `close`. What was written stays.
    """

    def __init__(
        self,
        engine: Engine,
        recipe: Recipe,
        counted: tuple[str, ...],
        facts: Mapping[str, Any],
        shown: Shown,
        assessment: Assessment | None,
        wanted: Wanted,
        progress: bool | None = None,
    ) -> None:
        """facts: of the certificate, all but what is counted on the release; wanted: what is."""
        self.recipe, self.counted, self.shown = recipe, counted, shown
        self._engine, self._facts, self._progress = engine, dict(facts), progress
        self._assessment, self._wanted = assessment, wanted
        self._recount: Recount | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        rows, columns = self._facts["rows_released"], len(self._facts["columns"])
        return f"Release({rows} records, {columns} columns, k={self.recipe.k}, {self.engine})"

    @property
    def data(self) -> Any:
        """The protected table.

        In memory of the kind that came in, an Arrow table for a file or a database; on disk an
        Arrow dataset over what was written; a Spark DataFrame.
        """
        return self._engine.data

    @property
    def partition(self) -> Partition:
        """Who was grouped with whom, in the order of the rows; known in memory only."""
        return self._engine.partition

    @property
    def engine(self) -> str:
        """Where it was made."""
        return self._engine.name

    @property
    def keeps_order(self) -> bool:
        """Whether its rows are in the order of the input."""
        return self._engine.keeps_order

    @property
    def origin(self) -> Origin:
        """Where the table came from."""
        return self._engine.origin

    @property
    def classes(self) -> Classes:
        """How many records share their protected values, counted on the release itself."""
        if self._recount is None:
            with watch("counting", self._progress) as advance:
                self._recount = self._engine.recount(None, self._wanted, advance)
        assert self._recount.classes is not None
        return self._recount.classes

    @property
    def certificate(self) -> Certificate:
        """What it promises and what was counted on it: on what was written, once it is."""
        classes = self.classes
        assert self._recount is not None
        return self._certified(self._recount, classes)

    @property
    def assessment(self) -> Assessment | None:
        """Risk and utility, if they were measured."""
        if self._assessment is None:
            return None
        classes = self.classes
        assert self._recount is not None
        return self._assessment.counted(classes, self._recount.counts)

    def write(self, target: str | os.PathLike[str], *, force: bool = False) -> Certificate:
        """Write the release, read it back, check it, and only then let it take its name.

        target: a path, a database URL with a table (`sqlite:///release.db#people`), or "-" for
            standard output. The suffix says the format; a file of the input's format looks like it.
            Spark writes a folder of files, to a path that all machines share.
        force: replace what is there. The input itself is never replaced.

        Beside a file or folder, `<target>.certificate.json` says what was promised and found. A
        release that fails its check is not published: PromiseError.
        """
        with (
            open_place(target, self.origin, force, self._engine.writes_folders) as place,
            watch("writing", self._progress) as advance,
            self._engine.write(place, advance) as draft,
        ):
            with watch("reading back and counting", self._progress) as advance:
                recount = self._engine.recount(draft, self._wanted, advance)
            certificate = self._certified(recount, recount.classes)
            certificate.refuse_broken()
            if place.certificate is not None:
                certificate.write(place.certificate)
        self._recount = recount
        return certificate

    def report(self, path: str | os.PathLike[str], *, public: bool = False) -> None:
        """Write the report, one HTML file.

        public: show nothing but what the release itself shows.
        """
        from microagg.release.telling import story_of
        from microagg.report.page import write

        write(story_of(self, public=public), Path(path))

    def close(self) -> None:
        """Let go of what it holds outside of memory; what was written stays."""
        self._engine.close()

    def _certified(self, recount: Recount, classes: Classes | None) -> Certificate:
        sizes: dict[str, Any] = {
            "k_found": 0, "groups": 0, "smallest_group": 0, "median_group": 0.0, "largest_group": 0
        }  # fmt: skip
        if classes is not None:
            sizes = {
                "k_found": classes.k,
                "groups": classes.count,
                "smallest_group": classes.smallest,
                "median_group": classes.median,
                "largest_group": classes.largest,
            }
        return Certificate(
            **self._facts,
            **sizes,
            release_sha256=recount.sha256,
            checks=checks(self.recipe, recount),
        )
