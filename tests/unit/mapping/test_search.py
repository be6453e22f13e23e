import tempfile
from pathlib import Path

import pytest
import torch

from fairseq_xling.core.folders import WorkFolder
from fairseq_xling.mapping.methods import Fit
from fairseq_xling.mapping.search import Attempt, Search, SearchOptions, best_of
from fairseq_xling.mapping.space import Space

NONE = torch.empty(0, 2, dtype=torch.int64)


def space(x):
    return Space(x, torch.arange(len(x)))


@pytest.fixture
def search(tmp_path):
    """``search(moving, fixed)``, each with its work in a folder of its own."""

    def make(moving, fixed, pairs=NONE, **options):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        settings = SearchOptions(**{"chance": 2, **options})
        return Search(space(moving), space(fixed), pairs, settings, WorkFolder(folder, 1))

    return make


def test_a_good_map_is_refined_and_beats_chance(planted, search):
    toy = planted(angle=0.9, noise=0.05)
    found = search(toy.moving, toy.fixed)
    chance = found.chance()
    attempt = found.attempt(1, lambda: Fit(torch.eye(20), [{"pairs": 7}]), chance)
    assert attempt.failure is None
    assert attempt.criterion > max(chance, attempt.unrefined)
    assert toy.accuracy(attempt.w) > 0.95
    assert (len(attempt.rounds), attempt.history) == (5, [{"pairs": 7}])


def test_spaces_that_have_nothing_in_common_fail(search):
    generator = torch.Generator().manual_seed(0)
    moving, fixed = (torch.randn(400, 20, generator=generator) for _ in range(2))
    found = search(moving, fixed, chance=3)
    chance = found.chance()
    failed = [found.attempt(s, lambda: Fit(torch.eye(20)), chance).failure for s in range(1, 2)]
    assert failed == [
        f"its criterion, {found.attempt(1, None, chance).criterion:.4f}, is not above the "
        f"{chance:.4f} that refined random rotations reach"
    ]


def test_words_spelt_alike_that_do_not_find_each_other_are_a_failure(planted, search):
    toy = planted(angle=0.0, rows=400)
    right = torch.stack([torch.arange(400), toy.partner], dim=1)[:50]
    wrong = torch.stack([right[:, 0], right[:, 1].roll(1)], dim=1)
    failures = []
    for pairs in (right, wrong, wrong[:19]):
        found = search(toy.moving, toy.fixed, pairs)
        failures.append(found.attempt(1, lambda: Fit(torch.eye(20)), chance=-1.0).failure)
    assert failures[0] is None
    assert failures[1].startswith("of 50 identically spelt words only ")
    assert failures[2] is None  # too few to conclude anything


def test_chance_is_measured_after_the_same_refinement(planted, search):
    toy = planted(angle=0.9, rows=400)
    found = search(toy.moving, toy.fixed)
    refined = found.chance()
    bare = max(found._work.find(f"chance-{n}")[1]["unrefined"] for n in range(2))
    assert refined > bare + 0.01


def test_a_flaw_that_the_method_reports_is_a_failure_whatever_the_criterion(planted, search):
    toy = planted(angle=0.0, rows=300)
    found = search(toy.moving, toy.fixed)
    attempt = found.attempt(1, lambda: Fit(torch.eye(20), flaw="it broke"), chance=-1.0)
    assert (attempt.failure, attempt.rounds) == ("it broke", [])


def test_a_finished_attempt_is_not_repeated_and_is_the_same(planted, search):
    toy, calls = planted(angle=0.9, noise=0.05, rows=300), []
    found = search(toy.moving, toy.fixed)

    def fit():
        calls.append(1)
        return Fit(torch.eye(20), [{"lr": 0.1}])

    first, again = found.attempt(1, fit, 2.0), found.attempt(1, fit, 2.0)
    assert len(calls) == 1
    assert torch.equal(first.w, again.w)
    assert {**vars(first), "w": 0} == {**vars(again), "w": 0}
    assert first.failure is not None  # judged anew each time, against the chance given


def test_the_criterion_looks_at_the_most_frequent_only(planted, search):
    toy = planted(angle=0.9, rows=300)
    whole = search(toy.moving, toy.fixed, criterion_rank=100)
    sides = space(toy.moving[:100]), space(toy.fixed[:100])
    part = Search(*sides, NONE, SearchOptions(), whole._work)
    assert whole.criterion(torch.eye(20)) == part.criterion(torch.eye(20))


def attempt(criterion, failure=None):
    return Attempt(torch.eye(1), criterion, criterion, [], [], {}, failure)


def test_the_best_is_kept_and_a_failed_one_only_without_others():
    assert best_of([attempt(0.3), attempt(0.5), attempt(0.9, "failed")]) == 1
    assert best_of([attempt(0.3, "failed"), attempt(0.5, "failed")]) == 1
    assert best_of([attempt(0.5), attempt(0.5)]) == 0
