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
    columns = []
    for name in table.column_names:
        array = table[name].combine_chunks()
        kind = "continuous" if pa.types.is_floating(array.type) else "nominal"
        columns.append(encode(name, array, kind))
    linked = "linked" if guarantee.rows_linked else "not linked"
    return Story(
        title="Private release",
        public=True,
        verdict=guarantee.private,
        verdict_sentence=(
            f"{guarantee.definition[0].upper()}{guarantee.definition[1:]}, epsilon = "
            f"{guarantee.epsilon:g}."
            if guarantee.private
            else "This release is not private: see below. Do not publish it."
        ),
        verdict_title="Noise was added" if guarantee.private else "Not private",
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
