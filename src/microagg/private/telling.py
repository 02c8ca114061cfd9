"""The page of a private release: the guarantee first, then what the release itself shows."""

from datetime import UTC, datetime

import pyarrow as pa

import microagg
from microagg.columns.coded import encode
from microagg.columns.summary import attribute, correlations
from microagg.private.guarantee import Guarantee
from microagg.report.story import Story


def story_of(guarantee: Guarantee, table: pa.Table) -> Story:
    """What the report says of a noisy table."""
    columns = [
        encode(name, table[name].combine_chunks(), _kind(table[name].type))
        for name in table.column_names
    ]
    linked = "linked" if guarantee.rows_linked else "not linked"
    private = guarantee.private and not guarantee.bounds_leaked
    return Story(
        title="Private release",
        public=True,
        verdict=private,
        verdict_sentence=(
            f"{guarantee.definition[0].upper()}{guarantee.definition[1:]}, epsilon = "
            f"{guarantee.epsilon:g}."
            if private
            else "This release is not private: see below. Do not publish it."
        ),
        verdict_title="Noise was added" if private else "Not private",
        guarantee=guarantee.paragraphs,
        limits=tuple(f"{point[0].upper()}{point[1:]}." for point in guarantee.not_protected),
        facts=(
            ("epsilon", f"{guarantee.epsilon:g}"),
            ("method", guarantee.method),
            ("records", table.num_rows),
        ),
        done=(
            "Clamped every value to bounds that were known without the data.",
            f"Formed groups by the method {guarantee.method}.",
            f"Added noise to what each group publishes: {guarantee.randomness}.",
            f"Put the columns together; rows are {linked} to the original ones.",
        ),
        roles=tuple(
            (name, "released", f"epsilon {share:g}")
            for name, share in guarantee.epsilon_by_column.items()
        ),
        attributes=tuple(attribute("released", column) for column in columns),
        correlations=correlations(columns) if guarantee.rows_linked else None,
        certificate=(
            ("definition", guarantee.definition),
            ("neighbouring tables", guarantee.neighbours),
            ("composition", guarantee.composition),
            ("source of randomness", guarantee.randomness),
            ("taken as public", ", ".join(guarantee.public)),
        ),
        software=f"microagg {microagg.__version__}",
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _kind(kind: pa.DataType) -> str:
    return "continuous" if pa.types.is_floating(kind) else "nominal"
