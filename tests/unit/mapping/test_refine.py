import torch

from fairseq_xling.mapping.csls import mutual_neighbours
from fairseq_xling.mapping.procrustes import orthogonality_error, procrustes
from fairseq_xling.mapping.refine import random_rotation, refine


def test_a_round_is_procrustes_on_the_mutual_neighbours(planted):
    toy, start = planted(angle=0.9, noise=0.1), torch.eye(20)
    w, (done,) = refine(start, toy.moving, toy.fixed, lambda w: float(w is not start), rounds=1)
    pairs = mutual_neighbours(toy.moving, toy.fixed)
    assert torch.equal(w, procrustes(toy.moving[pairs[:, 0]], toy.fixed[pairs[:, 1]]))
    assert done.pairs == len(pairs)


def test_only_the_most_frequent_stand_in_the_dictionary(planted):
    toy = planted(angle=0.9, noise=0.1, rows=300)
    results = []
    for rest in (0.0, 5.0):
        moving, fixed = toy.moving.clone(), toy.fixed.clone()
        moving[100:] = rest * torch.rand(200, 20)
        fixed[100:] = rest * torch.rand(200, 20)
        start = torch.eye(20)
        results.append(refine(start, moving, fixed, lambda w: 0.0, rounds=2, max_rank=100)[1])
    assert results[0] == results[1]
    assert results[0][0].pairs <= 100


def test_the_best_map_is_kept_even_if_it_is_the_first(planted):
    toy, start = planted(angle=0.9, rows=300), torch.eye(20)
    values = iter([0.9, 0.5, 0.6])
    w, rounds = refine(start, toy.moving, toy.fixed, lambda w: next(values), rounds=2)
    assert w is start
    assert [each.criterion for each in rounds] == [0.5, 0.6]


def test_random_rotations_differ_by_seed_only():
    torch.manual_seed(1)
    first = random_rotation(8, 1)
    torch.manual_seed(2)
    assert torch.equal(random_rotation(8, 1), first)
    assert not torch.equal(random_rotation(8, 2), first)
    assert orthogonality_error(first) < 1e-6
