"""The lattice emission against every path, one at a time."""

import functools
import itertools
import math

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.models.emissions import Placed, Reading
from fairseq_xling.models.emissions.lattice import Lattice
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.glancing import show
from fairseq_xling.models.lattice_paths import best_path, lattice_loss, visits

A, B, C = SPECIALS, SPECIALS + 1, SPECIALS + 2
VOCAB = SPECIALS + 4
WORDS = [[A, B], [A, A], [A], [], [C, B, A]]
LENGTHS = [6, 4, 3, 2, 5]


def paths(steps, emitted, length, size):
    """Every path of a row: its inner slots, and its log-probability as a number."""
    for slots in itertools.combinations(range(1, length - 1), size):
        way = [0, *slots, length - 1]
        score = sum(steps[u][v] for u, v in itertools.pairwise(way))
        yield slots, score + sum(emitted[word][slot] for word, slot in enumerate(slots))


@pytest.fixture
def random():
    """Steps, words and sizes of five rows, in double precision."""
    generator = torch.Generator().manual_seed(3)
    slots, words = max(LENGTHS), max(map(len, WORDS))
    steps = torch.randn(5, slots, slots, generator=generator, dtype=torch.double)
    place = torch.arange(slots)
    later = (place > place[:, None]) & (place < torch.tensor(LENGTHS)[:, None, None])
    steps = steps.masked_fill(~later, -1e30)
    emitted = torch.randn(5, words, slots, generator=generator, dtype=torch.double)
    return steps, emitted, torch.tensor(LENGTHS), torch.tensor([len(row) for row in WORDS])


def brute_force(steps, emitted):
    """The same loss by autograd through the sum over all paths."""
    rows = zip(steps, emitted, LENGTHS, map(len, WORDS), strict=True)
    return torch.stack(
        [-torch.stack([score + 0 * s.sum() for _, score in paths(s, e, *n)]).logsumexp(0)
         for s, e, *n in rows]
    )  # fmt: skip


def test_the_loss_and_its_gradient_are_those_of_all_paths(random):
    steps, emitted, lengths, sizes = random
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0, 1.5], dtype=torch.double)
    found, expected = [], []
    for gradients, loss in (
        (found, lambda s, e: lattice_loss(s, e, lengths, sizes)),
        (expected, brute_force),
    ):
        leaves = [part.clone().requires_grad_() for part in (steps, emitted)]
        value = loss(*leaves)
        (value * weights).sum().backward()
        gradients += [value, *(leaf.grad for leaf in leaves)]
    for own, theirs in zip(found, expected, strict=True):
        assert torch.allclose(own, theirs, rtol=1e-9, atol=1e-9)
        assert own.abs().sum() > 1


def test_the_best_path_is_the_likeliest_of_all(random):
    steps, emitted, _, _ = random
    found = best_path(*random)
    for row, size in enumerate(map(len, WORDS)):
        every = paths(steps[row].tolist(), emitted[row].tolist(), LENGTHS[row], size)
        assert found[row, :size].tolist() == list(max(every, key=lambda one: one[1])[0])


def lattice():
    torch.manual_seed(5)
    return Lattice(EncoderShape(2, VOCAB, 20, 2, 16, emission="lattice", upsample=2)).double()


def placed():
    return Placed({}, None, torch.tensor(LENGTHS))


def padded(words):
    sizes = torch.tensor([len(row) for row in words])
    rows = torch.zeros(len(words), max(1, int(sizes.max())), dtype=torch.long)
    for row, own in zip(rows, words, strict=True):
        row[: len(own)] = torch.tensor(own, dtype=torch.long)
    return rows, sizes


def states():
    generator = torch.Generator().manual_seed(7)
    return torch.randn(5, max(LENGTHS), VOCAB, generator=generator, dtype=torch.double) * 2


def test_steps_are_probabilities_of_later_slots():
    steps = lattice().steps(states(), placed().lengths).exp()
    for row, length in zip(steps, LENGTHS, strict=True):
        assert torch.allclose(row[: length - 1].sum(1), torch.ones(length - 1))
        assert row.tril().sum() == 0 and row[:, length:].sum() == 0 and row[length - 1].sum() == 0


def test_all_translations_together_have_the_probability_one():
    """Of a row of four slots: no word, or every one or two words of the vocabulary."""
    model, rows = lattice(), states()[:1, :4]
    total = 0.0
    for size in range(3):
        words = list(itertools.product(range(VOCAB), repeat=size))
        many = Placed({}, None, torch.full((len(words),), 4))
        tokens, sizes = padded([list(one) for one in words])
        repeated = rows.expand(len(words), -1, -1)
        total += (-model.loss(repeated, many, tokens, sizes, lambda x: x)).exp().sum().item()
    assert total == pytest.approx(1, abs=1e-5)


def test_what_does_not_fit_costs_nothing_and_moves_nothing():
    model, (words, sizes) = lattice(), padded([[A] * 5] * 5)
    own = states().requires_grad_()
    nll = model.loss(own, placed(), words, sizes, lambda x: x)
    assert (nll > 0).tolist() == model.fits(placed(), words, sizes).tolist() == [False] * 5
    nll.sum().backward()
    assert torch.count_nonzero(own.grad) == 0 and torch.isfinite(own.grad).all()
    best = model.best(states(), placed(), words, sizes, lambda x: x)
    assert (best.path == -1).all() and (show(best.path, best.guess, 1.0) == -1).all()


def test_the_words_of_the_best_path_are_shown():
    model, (words, sizes) = lattice(), padded(WORDS)
    best = model.best(states(), placed(), words, sizes, lambda x: x)
    for path, own in zip(best.path, WORDS, strict=True):
        assert path[path >= 0].tolist() == own
    assert torch.allclose(best.nll, model.loss(states(), placed(), words, sizes, lambda x: x))


def best_words(row):
    """Of each slot of a row the likeliest word that may be written, <unk> among them."""
    allowed = states()[row].clone()
    allowed[:, [token for token in range(SPECIALS) if token != 3]] = -math.inf
    return allowed.log_softmax(-1).max(-1)


def test_writing_looks_one_step_ahead_and_is_the_same_alone():
    model = lattice()
    ahead = Reading(lookahead=True)
    found = model.write([states()], placed(), [lambda x: x.clone()], ahead)
    log_steps = model.steps(states(), placed().lengths)
    for row, length in enumerate(LENGTHS):
        value, token = best_words(row)
        here, said, scores = 0, [], []
        while here != length - 1:
            ways = [
                log_steps[row, here, v].item() + (value[v].item() if v < length - 1 else 0)
                for v in range(length)
            ]
            here = max(range(length), key=ways.__getitem__)
            scores.append(ways[here])
            said.append(token[here].item() if here < length - 1 else 2)
        kept = found.kept[row]
        assert found.tokens[row][kept].tolist() == said
        assert found.log_probs[row][kept].tolist() == pytest.approx(scores, abs=1e-5)
        assert found.sizes[row] == len(said)
        one = Placed({}, None, torch.tensor([length]))
        alone = model.write([states()[row : row + 1, :length]], one, [lambda x: x.clone()], ahead)
        assert alone.tokens[0].tolist() == said


@pytest.mark.parametrize("bonus", [-1.0, 0.0, 0.7, 9.0])
def test_the_path_that_is_written_is_the_likeliest_of_all_with_a_bonus_for_each_word(bonus):
    model = lattice()
    reading = Reading(word_bonus=bonus)
    found = model.write([states()], placed(), [lambda x: x.clone()], reading)
    log_steps, written = model.steps(states(), placed().lengths).tolist(), []
    for row, length in enumerate(LENGTHS):
        value, token = best_words(row)
        every = [
            (score + sum(value[slot].item() + bonus for slot in slots), slots)
            for size in range(length - 1)
            for slots, score in paths(
                log_steps[row], [[0.0] * length] * size, length, size
            )
        ]  # fmt: skip
        score, slots = max(every)
        kept = found.kept[row]
        assert found.tokens[row][kept].tolist() == [*token[list(slots)].tolist(), 2]
        assert found.slots[row][kept].tolist() == [*slots, length - 1]
        own = found.log_probs[row][kept].sum().item()  # without the bonus
        assert own == pytest.approx(score - bonus * len(slots), abs=1e-4)
        written.append(len(slots))
        one = Placed({}, None, torch.tensor([length]))
        alone = model.write([states()[row : row + 1, :length]], one, [lambda x: x.clone()], reading)
        assert alone.tokens[0].tolist() == found.tokens[row][kept].tolist()
    most = [length - 2 for length in LENGTHS]
    assert (written == most) == (bonus == 9.0)


def test_visits_are_the_sum_of_all_paths_through_a_slot():
    steps = lattice().steps(states(), placed().lengths)
    found = visits(steps)
    for row, length in enumerate(LENGTHS):
        expected = [0.0] * max(LENGTHS)
        for size in range(length - 1):
            none = [[0.0] * length] * size
            for slots, score in paths(steps[row].tolist(), none, length, size):
                for slot in (0, *slots, length - 1):
                    expected[slot] += math.exp(score)
        assert found[row].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("beam", [1, 4])
def test_words_are_only_looked_for_where_enough_paths_go(monkeypatch, beam):
    model, seen = lattice(), []
    model.key.weight.data *= 40  # so that few paths are likely
    enough = visits(model.steps(states(), placed().lengths))

    def written(least):
        monkeypatch.setattr("fairseq_xling.models.emissions.lattice.VISITED", least)
        seen.clear()
        found = model.write(
            [states()], placed(), [lambda x: seen.append(len(x)) or x.clone()], Reading(beam=beam)
        )
        return found, sum(seen)

    (few, some), (_, every) = written(0.2), written(0.0)
    assert every == sum(length - 2 for length in LENGTHS) > some > 0
    word = few.real & (few.tokens != 2)
    rows = (torch.arange(len(word)) // beam)[:, None].expand_as(word)[word]
    least = (1 / torch.tensor(LENGTHS)).clamp(max=0.2)
    assert len(rows) and (enough[rows, few.slots[word]] >= least[rows]).all()


def test_a_model_keeps_a_bonus_of_its_own():
    model = lattice()
    assert model.word_bonus == 0.5
    model.word_bonus.fill_(0.0)
    plain = model.write([states()], placed(), [lambda x: x.clone()], Reading())
    model.word_bonus.fill_(9.0)
    longer = model.write([states()], placed(), [lambda x: x.clone()], Reading())
    assert longer.kept.sum() > plain.kept.sum()
    none = model.write([states()], placed(), [lambda x: x.clone()], Reading(word_bonus=0.0))
    assert torch.equal(none.tokens, plain.tokens)


@pytest.mark.parametrize("dtype", [torch.float, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reading", [Reading(), Reading(lookahead=True), Reading(beam=3)])
def test_many_slots_and_none_to_read_in_every_precision(dtype, reading):
    """Of 150 equally likely slots each is read; if the first step leads to the last, none is."""
    lengths = torch.tensor([150, 2, 3])
    own = torch.zeros(3, 150, VOCAB, dtype=dtype)
    own[..., A] = 5
    model = lattice().to(dtype)
    for part in (model.query, model.key, model.gate):
        torch.nn.init.zeros_(part.weight)
    seen = []
    write = functools.partial(model.write, logits=[lambda x: seen.append(len(x)) or x.clone()])
    found = write([own], Placed({}, None, lengths), reading=reading)
    assert sum(seen) == 148 + 1 and torch.isfinite(found.log_probs[found.real]).all()
    seen.clear()
    none = write([own[:, :2]], Placed({}, None, torch.full((3,), 2)), reading=reading)
    assert sum(seen) == 0 and set(none.tokens[none.kept].tolist()) == {2}


@pytest.mark.parametrize("lookahead", [False, True])
def test_states_that_are_not_finite_end_too(lookahead):
    broken = states()
    broken[1] = math.nan
    reading = Reading(lookahead=lookahead)
    found = lattice().write([broken], placed(), [lambda x: x.clone()], reading)
    whole = lattice().write([states()], placed(), [lambda x: x.clone()], reading)
    for row in (0, 2, 3, 4):
        kept = whole.kept[row]
        assert found.tokens[row][found.kept[row]].tolist() == whole.tokens[row][kept].tolist()


def test_several_models_have_no_graph_in_common():
    with pytest.raises(UserError) as error:
        lattice().write([states()] * 2, placed(), [lambda x: x] * 2, Reading())
    assert str(error.value).startswith("`--path` must name one model with `--emission lattice`")
