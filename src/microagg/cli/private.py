"""microagg private"""

from pathlib import Path
from typing import Annotated, Any

import typer

from microagg.base import texts
from microagg.base.addresses import without_password
from microagg.base.errors import MicroaggError, OptionError
from microagg.cli import options
from microagg.cli.saying import say, say_json


@options.with_settings("reading")
def private(
    source: options.Source,
    *,
    epsilon: Annotated[
        float | None, typer.Option("-e", "--epsilon", help="The privacy budget, for example 1.")
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            "-b",
            "--bounds",
            help="What each column may hold, known without the data: age=0:120,income=0:500000; "
            "categories: sex=f|m. Only these columns are released.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "-m",
            "--method",
            help="marginals, insensitive or records; or, given the partition only, mdav, "
            "mdav-columns or optimal.",
        ),
    ] = "marginals",
    budget: Annotated[
        str,
        typer.Option(help="How epsilon is divided among columns: even, sensitivity or optimal."),
    ] = "even",
    k: Annotated[
        int | None, typer.Option("-k", "--k", help="The group size; worked out otherwise.")
    ] = None,
    decimals: Annotated[
        list[str] | None, typer.Option(help="Round numbers: 2, or income=0,height=1.")
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(help="partition-conditional: accept the weaker guarantee of some methods."),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="For studies: seeded noise, not private.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of a simulation.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="A file that adds up the epsilon spent on each data set.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="What the ledger calls everything about the same people: survey-2026."),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="The most epsilon a data set may spend, by the ledger.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Where the release goes.")
    ] = None,
    certificate: options.Certificate = None,
    report: options.Report = None,
    settings: dict[str, Any],
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Release columns with calibrated noise, and say what that promises."""
    import microagg
    from microagg.actions.publish import refuse_outputs

    if epsilon is None:
        raise OptionError("--epsilon must be given, for example --epsilon 1")
    output = options.require_output(output, json)
    if (ledger is None) != (dataset is None) or (limit is not None and ledger is None):
        raise OptionError(
            "--ledger and --dataset go together: the file that adds up what was spent, and the "
            "name under which everything about the same people is added up; --limit needs both"
        )
    others = [] if report is None else [report]
    refuse_outputs(source, output, others, force, certificate=certificate)
    book = None if ledger is None else microagg.private.Ledger(ledger, limit)
    if book is not None:
        book.keep_apart(report)
    try:
        found = microagg.private.release(
            source,
            epsilon=epsilon,
            bounds=None if bounds is None else texts.bounds(bounds, "--bounds"),
            method=method,
            budget=budget,
            k=k,
            decimals=None if decimals is None else texts.places(decimals, "--decimals"),
            accept=accept,
            simulate=simulate,
            seed=seed,
            ledger=book,
            dataset=dataset,
            output=output,
            force=force,
            certificate=certificate,
            **settings,
        )
        written = found.write(output, force=force, certificate=certificate)
        if report is not None:
            found.report(report)
    except BaseException as end:
        # Errors of ours say so themselves.
        silent = not isinstance(end, MicroaggError)
        if silent and book is not None and book.receipt is not None:
            say(f"microagg: {book.receipt}, although this was stopped", aside=True)
        raise
    spent = None if book is None else book.receipt
    if json:
        said = {"guarantee": found.guarantee.to_dict(), "release": without_password(output)}
        say_json(said if spent is None else {**said, "ledger": spent})
        return
    files = [("release", without_password(output)), ("certificate", written), ("report", report)]
    places = "as the noise left them; --decimals 0 rounds them, which costs no privacy"
    told = [("decimals", places if decimals is None else None), ("ledger", spent), *files]
    for word, what in [*found.guarantee.lines, *told]:
        if what is not None and not quiet:
            say(f"{word:<13}{what}", aside=output == "-")
