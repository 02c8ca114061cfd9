"""A release with all that goes with it in one folder, and what a page shows of it."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from microagg.actions.publish import Publication
from microagg.kernels.announcing import seconds_compiling
from microagg.release.output import certificate_path, record_path
from microagg.release.telling import story_of
from microagg.report.page import render_parts


@dataclass(frozen=True)
class Presented:
    """What was made, where it is, and what a page shows of it.

    files: paths by what they are. verdict, sections: parts of a page, see `render_parts`. figures:
    of risk and utility, by the names of `microagg.measure.figures`.
    """

    files: dict[str, str]
    certificate: dict[str, Any]
    verdict: str
    sections: str
    loss: float
    figures: dict[str, Any]
    notes: tuple[str, ...]
    seconds: float


def present(wanted: Publication, name: str = "") -> Presented:
    """Make a release, with both reports and its recipe beside it.

    name: what the table is called, if not like its file.
    """
    started, compiled = time.perf_counter(), seconds_compiling()
    output = Path(wanted.output)
    files = {
        "release": output,
        "certificate": certificate_path(output),
        "public report": output.with_name("report-public.html"),
        "record": record_path(output),
        "report": output.with_name("report.html"),
        "recipe": output.with_name("recipe.toml"),
    }
    wanted = replace(wanted, report=None, save_recipe=None)
    with wanted.release() as release:
        release.report(files["report"], name=name)
        release.report(files["public report"], public=True)
        verdict, sections = render_parts(story_of(release, public=False, name=name))
        assessment = release.assessment
        certificate, record = release.certificate, release.record
    wanted.recipe.write(files["recipe"])
    return Presented(
        {what: str(path) for what, path in files.items()},
        certificate.to_dict(),
        verdict,
        sections,
        record.information_loss,
        {} if assessment is None else assessment.figures,
        record.notes,
        time.perf_counter() - started - (seconds_compiling() - compiled),
    )
