"""Word alignment as fine-tuning (SPEC T23): what is summed, what moves, and what stays."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.data.sources import Row, Side
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.objectives.word_alignment import WordAlignment
from fairseq_xling.training import word_alignment
from fairseq_xling.training.word_alignment import WordAlignmentCriterion

LANGS = {"en": 0, "de": 1}
FIRST, WORDS = 6, 10  # English words are 6 to 15, German word k is English word k + 10


class Model(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder


@pytest.fixture
def make_model():
    def make(separate=""):
        torch.manual_seed(1)
        rates = {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.3}
        shape = EncoderShape(2, 16, 32, 4, 12, **rates)
        sizes = dict.fromkeys(LANGS, FIRST + 2 * WORDS)
        return Model(SeparableEncoder(shape, sizes, SharingPlan.parse(separate, 2)))

    return make


@pytest.fixture
def make_criterion(monkeypatch):
    """A criterion whose initial encoder is a copy of ``model``'s."""

    def make(model, objectives=("word-alignment",), directions="en-de", path="x", **options):
        initial = copy.deepcopy(model.encoder).eval().requires_grad_(False)
        monkeypatch.setattr(word_alignment, "load_initial", lambda path, task: initial)
        cfg = SimpleNamespace(directions=directions)
        task = SimpleNamespace(objective_names=list(objectives), cfg=cfg)
        return WordAlignmentCriterion(task, path, **options)

    return make


def batch(count=16, seed=2, pair=None, step=-1):
    """Sentences and their planted translations, word by word, backwards or (step 1) forwards."""
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary(dict.fromkeys(LANGS, FIRST + 2 * WORDS), LANGS)
    examples = []
    for _ in range(count):
        words = rng.integers(FIRST, FIRST + WORDS, rng.integers(2, 7))
        n = len(words)
        source = Side(np.array([CLS, *words, SEP]), "en")
        target = Side(np.array([CLS, *(words[::step] + WORDS), SEP]), "de")
        order = np.array([0, *range(1, n + 1)[::step], n + 1])
        examples.append(WordAlignment(None, vocabulary)(Row(source, target, order), rng))
    return collate(examples, [0] * count, list(range(count)), pair)


def means(criterion, model, sample):
    """Mean squared distance of an aligned pair and drift of a source token."""
    with torch.no_grad():
        _, size, logs = criterion(model, sample)
    return float(logs["distance"] / size), float(logs["drift"] / logs["tokens"])


def test_the_loss_is_that_of_a_loop_over_pairs_and_tokens(make_model, make_criterion):
    model, sample = make_model(), batch(5)
    criterion = make_criterion(model, drift_weight=0.5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.1)
        loss, size, logs = criterion(model, sample)
        net, initial = sample["net_input"], criterion._initial[0]
        distance, drift, pairs = 0.0, 0.0, 0
        for row in range(5):
            length = int((net["src"]["tokens"][row] != 1).sum())

            def states(encoder, side, row=row, length=length):
                alone = {n: net[side][n][row : row + 1, :length] for n in ("tokens", "positions")}
                return encoder.states(alone)[-1][0]

            own, other = states(model.encoder, "src"), states(model.encoder, "tgt")
            drift += float((own - states(initial, "src")).square().sum())
            for place, index in enumerate(net["order"][row, :length].tolist()):
                if 0 < place < length - 1:
                    distance += float((own[index] - other[place]).square().sum())
                    pairs += 1
    assert size == pairs
    assert float(logs["distance"]) == pytest.approx(distance, rel=1e-4)
    assert float(logs["drift"]) == pytest.approx(drift, rel=1e-4)
    assert float(loss) == pytest.approx(distance + 0.5 * drift, rel=1e-4)


def test_planted_pairs_come_together_and_the_anchor_keeps_the_source_where_it_was(
    make_model, make_criterion
):
    train = [batch(32, seed, step=1) for seed in range(40)]
    held_out, found = batch(32, seed=999, step=1), {}
    for weight in (0.0, 1.0, 10.0):
        model = make_model()
        judge, criterion = make_criterion(model), make_criterion(model, drift_weight=weight)
        before, still = means(judge, model, held_out)
        assert still == 0
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for sample in train:
            optimizer.zero_grad()
            loss, size, _ = criterion(model, sample)
            (loss / size).backward()
            optimizer.step()
        after, drift = means(judge, model, held_out)
        found[weight] = after / before, drift / before
    aligned, drifts = zip(*found.values(), strict=True)
    assert max(aligned) < 0.4
    # Of the squared distance that there was: a third of it and more is drift without the anchor.
    assert drifts[0] > 0.3 and drifts[1] < 0.15 and drifts[2] < 0.03


def test_the_initial_encoder_is_neither_trained_nor_saved(make_model, make_criterion):
    model = make_model()
    criterion = make_criterion(model)
    loss, *_ = criterion(model, batch(3))
    loss.backward()
    assert not list(criterion.parameters()) and not criterion.state_dict()
    assert all(p.grad is None for p in criterion._initial[0].parameters())


def test_private_parts_are_those_of_each_sides_language(make_model, make_criterion):
    model = make_model("emb,1")
    sample = batch(4, pair=("en", "de"))
    criterion = make_criterion(model)
    loss, *_ = criterion(model, sample)
    loss.backward()
    for table in (model.encoder.tokens, model.encoder.positions):
        assert all(table.private[lang].weight.grad.abs().sum() > 0 for lang in LANGS)


def test_lower_layers_can_be_aligned_alone(make_model, make_criterion):
    model, sample = make_model(), batch(4)
    loss, *_ = make_criterion(model, align_layer=1)(model, sample)
    loss.backward()
    layers = [layer.shared.fc1.weight.grad for layer in model.encoder.layers]
    assert layers[0].abs().sum() > 0 and layers[1] is None
    with pytest.raises(SystemExit, match=r"`--align-layer` must lie in \[0, 2\], got 3"):
        make_criterion(model, align_layer=3)(model, sample)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": ("mlm",)}, "`--criterion word_alignment` needs `--objectives word-align"),
        ({"directions": ""}, "`--directions` must say which language stays in place"),
        ({"drift_weight": -1.0}, r"`--drift-weight` must be at least 0, got -1\.0"),
        ({"path": ""}, "`--initial-encoder` must name the checkpoint that training starts from"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(make_model, make_criterion, options, message):
    with pytest.raises(SystemExit, match=message):
        make_criterion(make_model(), **options)
