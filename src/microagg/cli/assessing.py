"""microagg assess"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microagg.base import texts
from microagg.cli import options
from microagg.cli.saying import say, say_json, say_table, say_wrapped

if TYPE_CHECKING:
    import microagg

_SCORES = {"r_squared": "R²", "accuracy": "accuracy %", "auc": "AUC"}


@options.with_settings("kinds", "orders", "reading")
def assess(
    original: options.Source,
    release: Annotated[
        str, typer.Argument(help="The release, whoever made it.", show_default=False)
    ],
    *,
    recipe: Annotated[
        Path | None,
        typer.Option(help="The recipe of the release; else what stands beside it tells roles."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="A column in both that says which record is which.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="The owner's record of the release, which pairs its rows.")
    ] = None,
    quasi_identifiers: Annotated[
        list[str] | None,
        typer.Option(
            "-q",
            "--quasi-identifiers",
            help="Columns to judge; else the recipe's, or those changed.",
        ),
    ] = None,
    confidential: Annotated[
        list[str] | None,
        typer.Option("-c", "--confidential", help="Columns whose diversity is measured."),
    ] = None,
    known: Annotated[
        list[str] | None, typer.Option(help="Columns an intruder knows who links records.")
    ] = None,
    sd: Annotated[float, typer.Option(help="How close is too close, in percent.")] = 5.0,
    attacks: Annotated[
        bool, typer.Option("--attacks", help="Also try what an intruder could do.")
    ] = False,
    also: Annotated[
        str | None,
        typer.Option(help="An earlier release of the same people, which attacks put beside it."),
    ] = None,
    also_record: Annotated[
        Path | None, typer.Option(help="The owner's record of that one, which pairs its rows.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(help="Columns that models are to tell, trained on release and originals."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Where both are looked at: memory, disk or spark; auto is memory if they fit."
        ),
    ] = "auto",
    memory: options.Memory = None,
    settings: dict[str, Any],
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> None:
    """Judge a release against the original: risk and utility, whoever made it."""
    import microagg

    found = microagg.assess(
        original,
        release,
        recipe=recipe,
        quasi_identifiers=_names(quasi_identifiers),
        confidential=_names(confidential),
        key=key,
        record=record,
        known=_names(known),
        sd=sd,
        attacks=attacks,
        also=also,
        also_record=also_record,
        targets=_names(target),
        engine=engine,
        memory=memory,
        progress=False if quiet else None,
        **settings,
    )
    if json:
        say_json(found.to_dict())
    else:
        _show(found)


def _names(given: list[str] | None) -> list[str] | None:
    return None if given is None else texts.names(given, "")


def _show(found: "microagg.Assessment") -> None:
    say("")
    say(f"{found.rows_released} records; judged: {', '.join(found.columns)}")
    say(
        f"At least {found.k_found} records share each combination of values; {found.unique} "
        "records share theirs with nobody."
    )
    say(f"Information loss {found.information_loss:.2f} % (0 is none, 100 is one value for all).")
    say_table(
        ("figure", "value", "better", "what it says"),
        [
            (each.title, *_measured(value, each.better, each.description))
            for each, value in found.shown()
            if each.group != "models"
        ],
        right=("value",),
        whole=("value", "better"),
    )
    losses, changes = found.attribute_losses, found.attribute_changes
    say_table(
        ("column", "loss %", "changed %"),
        [(name, f"{losses[name]:.2f}", f"{changes[name]:.1f}") for name in found.columns],
        right=("loss %", "changed %"),
        whole=("loss %", "changed %"),
    )
    if found.confidential:
        _show_confidential(found.confidential)
    if found.attacks:
        _show_attacks(found.attacks)
    if found.models:
        _show_models(found.models)
    for note in found.notes:
        say(options.noted(note))


def _measured(value: str, better: str, description: str) -> tuple[str, str, str]:
    """Value, direction and words of a figure; why it was not measured stands with the words."""
    value, _, why = value.partition(": ")
    return value, better, f"{description} ({why})" if why else description


def _show_confidential(found: dict[str, dict[str, Any]]) -> None:
    rows = []
    for name, each in found.items():
        diversity, disclosed = each["diversity"], each["disclosed"]
        rows.append(
            (
                name,
                f"{diversity['distinct']['least']:g}",
                f"{diversity['entropy']['least']:.2f}",
                f"{each['closeness']['largest']:.3f}",
                f"{disclosed['percent']:.2f}",
            )
        )
    figures = ("l (distinct)", "l (entropy)", "t", "disclosed %")
    say_table(("confidential", *figures), rows, right=figures, whole=figures)


def _show_attacks(found: Any) -> None:
    """What was disclosed beside what chance would, by attack; then each in words."""
    say("What an intruder still finds: shares disclosed, and in brackets by chance.")
    figures = ("records %", "values %")
    say_table(
        ("attack", "speaks to", *figures),
        [
            (
                each.title,
                ", ".join(each.attack.criteria),
                *(_beside_chance(share) for share in (each.found.records, each.found.values)),
            )
            for each in found
        ],
        right=figures,
        whole=figures,
    )
    for each in found:
        say_wrapped(f"{each.title}: {each.found.words}")
    say("")


def _beside_chance(share: Any) -> str:
    return "-" if share is None else f"{share.percent:.2f} ({share.chance:.2f})"


def _show_models(found: Any) -> None:
    """How well models do on the originals, by what they were trained on."""
    say("Models tested on the originals, by what they were trained on.")
    figures = ("originals", "release")
    say_table(
        ("target", "model", "score", *figures),
        [
            (each.target, trained.model, _SCORES[score], *(f"{one:.4g}" for one in pair))
            for each in found.values()
            for trained in (each.own, *each.others)
            for score, pair in trained.scores.items()
        ],
        right=figures,
        whole=(*figures, "score"),
    )
    say("How much of the 95 % intervals of coefficients overlaps (100 is all of it).")
    say_table(
        ("target", "predictor", "overlap %"),
        [
            (each.target, one.column, f"{one.overlap:.1f}")
            for each in found.values()
            for one in each.coefficients
        ],
        right=("overlap %",),
        whole=("overlap %",),
    )
