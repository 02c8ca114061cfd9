import re
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    known: dict = {}
    for block in blocks:
        exec(block, known)
    assert known["release"].certificate.k_found >= 5
    assert known["groups"].sizes.min() >= 5
    assert known["best"].scoring_index <= 100
    assert known["released"].shape == known["X"].shape
