"""Release: a protected table, and how it goes out: written, read back, checked, named."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from microagg.base.certificate import Certificate
from microagg.base.errors import MicroaggError, OptionError
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.base.record import Record
from microagg.base.showing import Rows, Showing
from microagg.engine.counting import Counts, Wanted
from microagg.engine.plan import Plan
from microagg.engine.protocol import Engine, Recount
from microagg.release.assessment import Assessment
from microagg.release.judging import Shown
from microagg.release.output import open_place
from microagg.release.promises import checks
from microagg.table.classes import Classes
from microagg.table.frames import head_of
from microagg.table.opening import Origin

# Losses to the last digit let others confirm what they guess of the original.
_DIGITS = 2
# Rows that a notebook shows.
_SHOWN = 5


class Release(Showing):
    """A protected table and what is known of it; nothing of the original but sums over many.

    recipe: the settings it was made with.
    engine: where it was made: memory, disk or spark. What is published does not depend on it.
    counted: the columns in which at least k records share each combination of values.
    shown: what pages show of its columns. before: how many records of the original shared their
    values, of all or of a sample of many; None if risk was not measured.

    On disk it needs room until it is closed, or until nobody holds it any more; on Spark until it
    is closed: use it in a `with` statement, or call `close`. What was written stays.
    """

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        record: Record,
        shown: Shown,
        assessment: Assessment | None,
        wanted: Wanted,
        progress: bool | None = None,
        before: Classes | None = None,
        public_notes: tuple[str, ...] = (),
    ) -> None:
        """record: as it is before anything is written; wanted: what is counted on the release.

        public_notes: those that tell nothing of the original.
        """
        self.recipe, self.counted, self.shown = plan.recipe, plan.counted, shown
        self._engine, self._record, self._progress = engine, record, progress
        self._assessment, self._wanted = assessment, wanted
        self._recount: Recount | None = None
        self.before, self._public_notes = before, public_notes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self.engine != "memory":
            raise OptionError(
                "a release made on disk or on Spark is not held in memory, so it cannot be copied "
                "or pickled; write it, or say engine=memory"
            )
        return self.__dict__

    def _told(self) -> dict[str, object]:
        record = self._record
        told = {"records": record.rows_released, "columns": len(record.columns)}
        # What is not counted yet may take long on many machines.
        known = self._recount is not None or self.engine == "memory"
        k = {"k_found": self.certificate.k_found} if known else {"k": self.recipe.k}
        loss = f"{record.information_loss:.2f} %"
        return {**told, **k, "information_loss": loss, "engine": self.engine}

    def _rows(self) -> Rows | None:
        if self.engine == "spark":
            return None
        try:
            head = head_of(self.data, _SHOWN)
        except MicroaggError:
            # On disk there is nothing to show before it is written.
            return None
        return head.column_names, [tuple(map(str, row.values())) for row in head.to_pylist()]

    @property
    def data(self) -> Any:
        """The protected table.

        In memory of the kind that came in, in the order and with the index it had, an Arrow table
        for a file or a database; on disk an Arrow dataset over what was written; a Spark DataFrame.
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
    def counts(self) -> Counts:
        """What was counted of confidential columns on the classes of the release."""
        assert self.classes is not None
        assert self._recount is not None
        return self._recount.counts

    @property
    def certificate(self) -> Certificate:
        """What it promises and what was counted on it: on what was written, once it is.

        It may be published.
        """
        classes = self.classes
        assert self._recount is not None
        return self._certified(self._recount, classes)

    @property
    def record(self) -> Record:
        """What the owner of the data keeps: exact losses, hashes, and the secret of the order."""
        return self._recorded(self._recount)

    @property
    def assessment(self) -> Assessment | None:
        """Risk and utility, if they were measured."""
        if self._assessment is None:
            return None
        classes = self.classes
        assert self._recount is not None
        return self._assessment.counted(classes, self._recount.counts)

    def write(
        self,
        target: str | os.PathLike[str],
        *,
        force: bool = False,
        certificate: str | os.PathLike[str] | None = None,
    ) -> Certificate:
        """Write the release, read it back, check it, and only then let it take its name.

        target: a path, a database URL with a table (`sqlite:///release.db#people`), or "-" for
            standard output. The suffix says the format; a file of the input's format looks like it.
            Spark writes a folder of files, to a path that all machines share.
        force: replace what is there. The input itself is never replaced.
        certificate: where the certificate goes, if not beside a file: that of standard output is
            written only there. The record goes beside it.

        Rows are shuffled, unless the recipe keeps their order. Beside a file or folder,
        `<target>.certificate.json` says what was promised and found, to be published with it, and
        `<target>.record.json`, which only its owner may read, tells the order and what else others
        must not know. A database table has its certificate in a table beside it,
        `<table>_certificate`, and no record unless `certificate` says where. A release that fails
        its check is not published: PromiseError.
        """
        with (
            open_place(
                target,
                self.origin,
                force,
                folder=self._engine.writes_folders,
                certificate=None if certificate is None else Path(certificate),
            ) as place,
            watch("writing", self._progress) as advance,
            self._engine.write(place, advance) as draft,
        ):
            with watch("reading back and counting", self._progress) as advance:
                recount = self._engine.recount(draft, self._wanted, advance)
            certified = self._certified(recount, recount.classes)
            certified.refuse_broken()
            if place.certificate is not None:
                certified.write(place.certificate)
            if place.record is not None:
                self._recorded(recount).write(place.record)
        self._recount = recount
        return certified

    def report(self, path: str | os.PathLike[str], *, public: bool = False, name: str = "") -> None:
        """Write the report, one HTML file.

        public: show nothing but what the release itself shows. name: what the table is called, if
        not like its file.
        """
        from microagg.release.telling import story_of
        from microagg.report.page import write

        write(story_of(self, public=public, name=name), Path(path))

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
        recipe, record = self.recipe, self._record
        above = record.above_optimum
        return Certificate(
            version=record.version,
            made=record.made,
            recipe=recipe.public(),
            method=record.method,
            counts=recipe.units,
            k_asked=recipe.k,
            **sizes,
            rows_released=record.rows_released,
            row_order=record.row_order,
            columns=record.columns,
            information_loss=round(record.information_loss, _DIGITS),
            attribute_losses={
                name: round(loss, _DIGITS) for name, loss in record.attribute_losses.items()
            },
            # Never less than was proved.
            above_optimum=None if above is None else round(above + 0.5 * 10**-_DIGITS, _DIGITS),
            release_sha256=recount.sha256,
            checks=checks(recipe, replace(recount, dominance=record.dominance)),
            notes=self._public_notes,
        )

    def _recorded(self, recount: Recount | None) -> Record:
        return replace(self._record, release_sha256=None if recount is None else recount.sha256)
