"""The story of a release."""

import pyarrow as pa

import microagg
from microagg.release.telling import story_of


def test_the_first_screen_says_what_an_intruder_may_still_do(tmp_path):
    table = {"age": [30.0, 31, 32, 60, 61, 62], "ward": list("aabbcc"), "ill": list("xxyyxy")}
    recipe = {"k": 3, "quasi_identifiers": "age", "confidential": "ill", "row_order": "kept"}
    release = microagg.protect(pa.table(table), **recipe, progress=False)
    internal, public = (" ".join(story_of(release, public=each).limits) for each in (False, True))
    for told in (internal, public):
        assert "by what was kept as it is (ward, ill)" in told
        assert "the order of the rows" in told
        assert "not differential privacy" in told
    assert "% of the records" in internal
    assert "%" not in public
    release.report(tmp_path / "report.html")
    assert "What an intruder may still do" in (tmp_path / "report.html").read_text()
