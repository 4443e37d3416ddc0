"""What each study registered stands, and its page lists its claims."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

import embinit_studies
from embinit.claims import Claim, Verdict, read
from embinit.claims.lock import NAME, Lock
from embinit.claims.registration_status import registration_status
from embinit.papers import PAPERS

HOME = Path(embinit_studies.__file__).parent
PAGES = sorted(HOME.parent.rglob("README.md"))
STUDIES = sorted(path.parent.name for path in HOME.glob("*/" + NAME))


def claims_of(study):
    """The claims in a study's folder, with their tests."""
    for path in sorted((HOME / study).glob("test_*.py")):
        module = importlib.import_module(f"embinit_studies.{study}.{path.stem}")
        for test in vars(module).values():
            if (claim := Claim.of(test)) is not None:
                yield test, claim


def test_all_studies_are_registered():
    """Each folder with a lock is a paper by the folder's name."""
    assert STUDIES == ["causes", "confirmed", "extending", "modern", "starts"]
    assert [PAPERS[study].key for study in STUDIES] == STUDIES


@pytest.mark.parametrize(
    ("study", "tier"), [(study, tier) for study in STUDIES for tier in PAPERS[study].tiers]
)
def test_families_have_their_registered_size(study, tier):
    """A share of alpha is only honest if the family is as large as it says."""
    sizes = Counter()
    families = {}
    for _, claim in claims_of(study):
        families[claim.family.name] = claim.family
        if claim.expects is None:
            sizes[claim.family.name] += len(claim.experiments(tier))
    assert sizes == {name: family.size.get(tier, 0) for name, family in families.items()}


@pytest.mark.parametrize("study", STUDIES)
def test_ids_are_unique_and_families_have_a_planted_falsehood(study):
    """Findings are only trusted beside controls."""
    found = [claim for _, claim in claims_of(study)]
    assert len({claim.id for claim in found}) == len(found)
    assert {claim.paper for claim in found} == {study}
    for family in {claim.family.name for claim in found}:
        assert Verdict.REFUTED in {claim.expects for claim in found if claim.family.name == family}


@pytest.mark.parametrize("study", STUDIES)
def test_the_page_lists_each_claim_once(study):
    """And none that is not there."""
    page = (HOME / study / "README.md").read_text("utf-8").split("\n## Claims\n")[1]
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`" in line]
    listed = Counter(f"{study}/{id}" for row in rows for id in re.findall(r"`([^`]+)`", row))
    assert listed == Counter(claim.id for _, claim in claims_of(study))


@pytest.mark.parametrize("study", STUDIES)
def test_claims_stand_as_they_are_registered(study):
    """A statement, a margin, a family's size or a look that changes is registered anew, in sight.

    Those whose runs had been seen by then say so in their lines.
    """
    lock = Lock(HOME / study / NAME)
    left = {key for key in lock.document["claims"] if key.endswith(" on micro")}
    for test, claim in claims_of(study):
        for each in claim.experiments("micro"):
            case = read(test, each, lock=lock)
            now = registration_status(case, case.looks())
            told = f"{case.id}: {now.differs}; run embinit register {study} --seeds 0"
            assert now.state in ("afterwards", "beforehand"), told
            left.discard(case.key)
    assert left == set()
