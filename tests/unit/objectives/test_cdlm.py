"""P5 and P6: CdLM, and that a model with a TRILayer learns a lexicon and a word order by it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Example, Vocabulary
from fairseq_xling.data.folder import CLS, PAD, SEP, SPECIALS
from fairseq_xling.data.sources import Row, Side
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.separable_transformer import SeparableTransformer
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.cdlm import CrossLingualLM
from fairseq_xling.objectives.mlm import MaskedLM
from fairseq_xling.training.criterion import UnifiedLMCriterion
from tests.framed_rows import mono, pair, side

WORDS = 12  # of each language
SIZE = SPECIALS + 2 * WORDS
VOCABULARY = Vocabulary({"en": SIZE, "de": SIZE}, {"en": 0, "de": 1})


@pytest.fixture
def cdlm(options):
    return CrossLingualLM(options(), VOCABULARY)


def apply(objective, row, seed=0):
    return objective(row, np.random.default_rng(seed))


def test_the_whole_target_is_predicted_from_the_whole_source_in_the_given_order(cdlm):
    row = pair([7, 8, 9], [20, 21], [0, 3, -1, 4])
    example = apply(cdlm, row)
    assert example.src["tokens"].tolist() == [CLS, 7, 8, 9, SEP]  # nothing is hidden
    assert example.tgt["tokens"].tolist() == [CLS, 20, 21, SEP]
    assert example.tgt["predict"].tolist() == [True] * 4  # CLS, SEP and unaligned words too
    assert example.order.tolist() == [0, 3, -1, 4]
    for one, lang, length in ((example.src, 0, 5), (example.tgt, 1, 4)):
        assert one["positions"].tolist() == list(range(length))
        assert one["langs"].tolist() == [lang] * length
    assert "attn_group" not in example.src
    assert example.extra["reordered"].tolist() == [1] * int((example.order >= 0).sum())
    assert example.extra["kept"].tolist() == [1] * len({0, 3, 4})


def test_nothing_about_it_is_random(cdlm):
    row = pair([7, 8, 9], [20, 21], [0, 3, -1, 4])
    one, other = apply(cdlm, row, 1), apply(cdlm, row, 2)
    assert one.src["tokens"].tolist() == other.src["tokens"].tolist()
    assert one.order.tolist() == other.order.tolist()


@pytest.mark.parametrize("name", ["cdlm", "brlm-attn", "brlm-mask"])
@pytest.mark.parametrize("row", [mono([7]), pair([7], [20])], ids=["one language", "no alignment"])
def test_text_without_translations_or_alignments_is_refused(options, name, row):
    objective = objectives[name](options(), VOCABULARY)
    with pytest.raises(UserError, match=f"^objective '{name}' needs parallel text with word align"):
        apply(objective, row)


# ---- P5 and P6 through the model and the criterion


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(1)
    shape = EncoderShape(2, 16, 32, 4, 16, 0.0, 0.0, True, 2, "bert", 0.3)
    encoder = TriEncoder(shape, {"en": SIZE, "de": SIZE}, SharingPlan())
    return SeparableTransformer(encoder, {}).eval()


@pytest.fixture
def loss_of(model):
    """``loss_of([(name, example), ...], weights)``: what the criterion says, with its logs."""

    def make(named, weights=None):
        names = list(dict.fromkeys(name for name, _ in named))
        task = SimpleNamespace(
            objective_names=names,
            objective_weights=weights or {},
            languages=["en", "de"],
            auxiliary_names=[],
        )
        ids = [names.index(name) for name, _ in named]
        batch = collate([example for _, example in named], ids, ids, None)
        return UnifiedLMCriterion(task)(model, batch)

    return make


def drawn_pair(source, target, seed):
    rng = np.random.default_rng([seed, source, target])
    order = rng.integers(-1, source + 1, target + 2)
    order[0], order[-1] = 0, source + 1
    words = rng.integers(SPECIALS, SPECIALS + WORDS, source), rng.integers(18, 30, target)
    return pair(*words, order)


@pytest.mark.parametrize(("source", "target"), [(1, 8), (8, 1), (5, 5), (0, 3), (3, 0)])
def test_there_are_as_many_logits_as_target_tokens_whatever_the_source(model, source, target, cdlm):
    examples = [apply(cdlm, drawn_pair(source, target, 1)), apply(cdlm, drawn_pair(2, 4, 2))]
    batch = collate(examples, [0, 0], [0, 1], None)
    logits = model(**batch["net_input"]).logits
    assert logits.shape == (target + 2 + 6, SIZE)
    # The loss leaves out padding and nothing else.
    assert (batch["target"] != PAD).sum() == target + 2 + 6


@torch.no_grad()
def test_the_loss_is_that_of_every_token_one_by_one(model, cdlm, loss_of):
    rows = [drawn_pair(*sizes, 3) for sizes in ((4, 7), (9, 2), (1, 1))]
    loss, size, logs = loss_of([("cdlm", apply(cdlm, row)) for row in rows])
    expected = count = 0
    for row in rows:
        example = collate([apply(cdlm, row)], [0], [0], None)["net_input"]
        logits = model(**example).logits.double()
        for u, word in enumerate(row.target.tokens.tolist()):
            expected -= float(logits[u].log_softmax(-1)[word])
            count += 1
    assert size == count == logs["cdlm_de_count"] and logs["cdlm_en_count"] == 0
    assert loss.item() == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_cdlm_of_a_sentence_with_itself_in_its_own_order_is_mlm_exactly(options, loss_of):
    """With Y = X, A the identity and C = M both are the same formula (SPEC P6)."""
    mlm = MaskedLM(options(mask_prob=0.4), VOCABULARY)
    named = {"mlm": [], "cdlm": []}
    for seed, length in enumerate((9, 3, 12, 1)):
        words = np.random.default_rng(seed).integers(SPECIALS, SIZE, length)
        example = apply(mlm, Row(side(words, "de")), seed)
        named["mlm"].append(("mlm", example))
        written = Example(example.src, example.tgt, np.arange(length + 2))
        named["cdlm"].append(("cdlm", written))
    results = [loss_of(examples) for examples in named.values()]
    assert results[0][0].item() == results[1][0].item() > 0
    assert results[0][1] == results[1][1]


@torch.no_grad()
@pytest.mark.parametrize("weights", [None, {"cdlm": 0.25, "mlm": 3.0, "nsp": 0.0}])
def test_a_mixed_batch_costs_the_weighted_sum_of_its_objectives_apart(options, loss_of, weights):
    made = {
        name: objectives[name](options(mask_prob=0.4), VOCABULARY)
        for name in ("cdlm", "mlm", "tlm", "brlm-mask", "brlm-attn", "nsp")
    }
    segments = Row(side([7, 8, 9], "de"), Side(np.array([10, 11, SEP]), "de"), follows=True)
    rows = [
        *(("cdlm", drawn_pair(4, 7, 1)), ("mlm", Row(side(range(6, 15), "en")))),
        *(("brlm-attn", drawn_pair(3, 5, 2)), ("cdlm", drawn_pair(9, 2, 3))),
        *(("tlm", drawn_pair(5, 4, 4)), ("brlm-mask", drawn_pair(8, 8, 5)), ("nsp", segments)),
        ("mlm", Row(side(range(20, 24), "de"))),
    ]
    named = [(name, apply(made[name], row, number)) for number, (name, row) in enumerate(rows)]
    together, size, logs = loss_of(named, weights)
    apart = count = 0
    for name in made:
        loss, number, own = loss_of([item for item in named if item[0] == name])
        apart += (weights or {}).get(name, 1.0) * loss.item()
        count += number
        assert number > 0, name
        for lang in ("en", "de"):  # logs are without weights
            key = f"{name}_{lang}_nll"
            assert float(logs[key]) == pytest.approx(float(own[key]), rel=1e-5), key
    assert together.item() == pytest.approx(apart, rel=1e-5)
    assert size == count  # G7: one mean over all predicted tokens


# ---- P5: it learns


def planted(count, rng):
    """Source words, their translations (word k is k + WORDS), and a permutation of their own."""
    rows = []
    for _ in range(count):
        length = int(rng.integers(2, 7))
        words = rng.integers(SPECIALS, SPECIALS + WORDS, length)
        moved = rng.permutation(length)
        order = [0, *(moved + 1), length + 1]
        rows.append(pair(words, words[moved] + WORDS, order))
    return rows


def test_a_planted_lexicon_and_any_word_order_are_learnt(cdlm, record_property):
    torch.manual_seed(1)
    shape = EncoderShape(2, 32, 64, 2, 8, 0.0, 0.0, True, init_std=0.1)
    encoder = TriEncoder(shape, {"en": SIZE, "de": SIZE}, SharingPlan())
    model = SeparableTransformer(encoder, {})
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    rng = np.random.default_rng(1)

    def batch_of(rows):
        numbers = [0] * len(rows)
        return collate([apply(cdlm, row) for row in rows], numbers, numbers, None)

    held_out = batch_of(planted(300, np.random.default_rng(99)))
    lost = held_out["net_input"] | {"order": held_out["net_input"]["order"].flip(0)}

    @torch.no_grad()
    def accuracy(net_input=held_out["net_input"]):
        predict = held_out["net_input"]["tgt"]["predict"]
        found = model(**net_input).logits.argmax(-1)
        return (found == held_out["target"][predict]).float().mean().item()

    for step in range(400):
        batch = batch_of(planted(32, rng))
        logits = model(**batch["net_input"]).logits
        target = batch["target"][batch["net_input"]["tgt"]["predict"]]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, target).backward()
        optimizer.step()
        if step % 25 == 24 and accuracy() > 0.995:
            break
    record_property("accuracy", round(accuracy(), 4))
    assert accuracy() > 0.99
    assert accuracy(lost) < 0.7  # with the orders of other sentences
