"""Every attack that a release is tried by."""

from microagg.measure.attacks.assigning import ASSIGNMENT
from microagg.measure.attacks.attack import Attack, Finding, Scene
from microagg.measure.attacks.inferring import INFERENCE, ORDER, RECONSTRUCTION, TRANSPARENT
from microagg.measure.attacks.intersecting import INTERSECTION
from microagg.measure.attacks.linking import CLASS, NEAREST

ATTACKS: tuple[Attack, ...] = (
    NEAREST,
    ASSIGNMENT,
    CLASS,
    INTERSECTION,
    INFERENCE,
    ORDER,
    RECONSTRUCTION,
    TRANSPARENT,
)


def try_attacks(scene: Scene, attacks: tuple[Attack, ...] = ATTACKS) -> list[Finding]:
    """What every attack finds for which the scene has all that it needs."""
    findings: list[Finding] = []
    for attack in attacks:
        if all(getattr(scene, need) is not None for need in attack.needs):
            findings += [Finding(attack, found) for found in attack.run(scene)]
    return findings
