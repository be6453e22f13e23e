"""P7: next sentence prediction."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import CLS, MASK, SEP, SPECIALS
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.data.sources import NEXT, NOT_NEXT, Row, SegmentPairs, Side
from fairseq_xling.models.auxiliary import View
from fairseq_xling.models.auxiliary.nsp import NextSentenceHead
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.objectives.nsp import NextSentence


@pytest.fixture
def nsp(options):
    def make(**changes):
        vocabulary = Vocabulary({"en": 40, "de": 40}, {"en": 0, "de": 1})
        return NextSentence(options(**changes), vocabulary)

    return make


def row(first, second, follows=True, lang="de"):
    return Row(
        Side(np.array([CLS, *first, SEP]), lang),
        Side(np.array([*second, SEP]), lang),
        follows=follows,
    )


def test_two_segments_are_one_input_with_segment_ids_and_a_label(nsp):
    for follows, label in ((True, NEXT), (False, NOT_NEXT)):
        example = nsp(mask_prob=0.0)(row([7, 8], [9, 10, 11], follows), np.random.default_rng(0))
        assert example.src["tokens"].tolist() == [CLS, 7, 8, SEP, 9, 10, 11, SEP]
        assert example.tgt["tokens"].tolist() == example.src["tokens"].tolist()
        assert example.src["segments"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
        assert example.src["positions"].tolist() == list(range(8))
        assert set(example.src["langs"].tolist()) == {1}
        assert example.extra["next"].tolist() == [label] and example.order is None


def test_words_of_both_segments_are_hidden_as_in_mlm(nsp):
    objective, rng = nsp(mask_prob=0.5), np.random.default_rng(0)
    seen = np.zeros(14, dtype=int)
    for _ in range(200):
        example = objective(row([7] * 5, [8] * 6), rng)
        chosen, hidden = example.tgt["predict"], example.src["tokens"]
        assert chosen.sum() in (5, 6)
        assert (hidden[~chosen] == example.tgt["tokens"][~chosen]).all()
        assert (hidden[chosen] == MASK).sum() > 0
        seen += chosen
    assert not seen[[0, 6, 13]].any() and (np.delete(seen, [0, 6, 13]) > 60).all()


def test_labels_balance_and_a_trained_head_tells_the_next_sentence_from_the_one_before(
    nsp, tmp_path
):
    """Sentence k of the text says k modulo 6, so B follows A if it says one more.

    The swap test: A and B in the wrong order, which is no continuation.
    """
    kinds, count = 6, 300
    write_items(tmp_path / "text", [[SPECIALS + k % kinds, SEP] for k in range(count)], "<u2")
    source = SegmentPairs(TokenFile(tmp_path / "text"), "en", 8)
    labels = [source[i].follows for i in range(len(source))]
    assert sum(labels) == len(labels) / 2

    torch.manual_seed(1)
    shape = EncoderShape(2, 32, 64, 2, 8, 0.0, 0.0, num_segments=2, init_std=0.3)
    encoder = SeparableEncoder(shape, {"en": 40, "de": 40}, SharingPlan())
    head = NextSentenceHead(shape, 2)
    head.apply(encoder.initialise)
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=5e-3)
    rng, objective = np.random.default_rng(1), nsp(mask_prob=0.0)

    def batch_of(rows):
        examples = [objective(one, rng) for one in rows]
        return collate(examples, [0] * len(rows), list(range(len(rows))), None)["net_input"]

    def says_next(pairs):
        batch = batch_of([row([a + SPECIALS], [b + SPECIALS], lang="en") for a, b in pairs])
        with torch.no_grad():
            logits = head.logits(encoder.states(batch["src"])[-1])
        return F.softmax(logits, -1)[:, 1] > 0.5

    following = [(k, (k + 1) % kinds) for k in range(kinds)]
    others = [(a, b) for a in range(kinds) for b in range(kinds) if (b - a) % kinds != 1]
    for step in range(300):
        batch = batch_of([source[int(i)] for i in rng.integers(0, len(source), 64)])
        final = encoder.states(batch["src"])[-1]
        loss, number = head(View(batch["src"], batch["tgt"], None, batch["extra"], None, final))
        assert number == 64
        optimizer.zero_grad()
        (loss / number).backward()
        optimizer.step()
        if step % 20 == 19 and says_next(following).all() and not says_next(others).any():
            break
    assert says_next(following).all()
    assert not says_next([(b, a) for a, b in following]).any()
    assert not says_next(others).any()
