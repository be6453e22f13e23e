"""The groups of BRLM's restricted attention; what the model makes of them: test_trilayer (P4)."""

import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.objectives.brlm import BridgeAttentionLM, groups
from fairseq_xling.objectives.tlm import TranslationLM
from tests.framed_rows import pair

VOCABULARY = Vocabulary({"en": 60, "de": 60}, {"en": 0, "de": 1})


@pytest.fixture
def brlm(options):
    return lambda **changes: BridgeAttentionLM(options(**changes), VOCABULARY)


def together(one, other, source_length, order):
    """Whether two positions of [X ; Y] may see each other, said in words."""

    def partner(position):  # the source word that a position stands for
        return position if position < source_length else int(order[position - source_length])

    def unaligned(position):
        if position < source_length:
            return position not in order.tolist()
        return order[position - source_length] < 0

    if unaligned(one) or unaligned(other):
        same_side = (one < source_length) == (other < source_length)
        return unaligned(one) and unaligned(other) and same_side
    return partner(one) == partner(other)


def test_a_group_is_a_source_word_and_the_target_words_aligned_with_it():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        source, target = rng.integers(1, 9, 2)
        order = rng.integers(-1, source, target)
        found = groups(int(source), order)
        assert found.min() > 0  # 0 is the null state's and everybody's without groups
        for i in range(source + target):
            for j in range(source + target):
                assert (found[i] == found[j]) == together(i, j, source, order)


def test_it_is_tlm_but_for_who_sees_whom(brlm, options):
    one = pair([7, 8, 9], [20, 21], [0, 3, -1, 4])
    example = brlm(mask_prob=0.5)(one, np.random.default_rng(4))
    tlm = TranslationLM(options(mask_prob=0.5), VOCABULARY)(one, np.random.default_rng(4))
    found = example.src.pop("attn_group")
    for ours, theirs in ((example.src, tlm.src), (example.tgt, tlm.tgt)):
        assert {k: v.tolist() for k, v in ours.items()} == {
            k: v.tolist() for k, v in theirs.items()
        }
    assert found.tolist() == groups(5, one.order).tolist() and example.order is None


@pytest.mark.parametrize("order", [[0, 3, -1, 1, 5], [0, -1, -1, -1, 5], [0, 2, 2, 2, 5]])
def test_without_a_trilayer_too_a_word_depends_on_its_group_alone(brlm, order):
    torch.manual_seed(1)
    shape = EncoderShape(3, 16, 32, 4, 12, 0.0, 0.0, True, init_std=0.3)
    encoder = SeparableEncoder(shape, {"en": 60, "de": 60}, SharingPlan()).eval()
    one = pair([7, 8, 9, 10], [20, 21, 22], order)
    longer = pair(range(6, 14), range(30, 38), [0, *range(8, 0, -1), 9])
    examples = [brlm()(each, np.random.default_rng(0)) for each in (one, longer)]
    src = collate(examples, [0, 0], [0, 1], None)["net_input"]["src"]
    embedded = []
    make_sum = encoder._sum

    def kept_sum(*arguments):
        embedded.append(make_sum(*arguments).detach().requires_grad_())
        return embedded[-1]

    encoder._sum = kept_sum
    for position in range(11):
        encoder.states(src)[-1][0, position].pow(2).sum().backward()
        reached = [bool(state.any()) for state in embedded[-1].grad[0]]
        expected = [together(position, other, 6, one.order) for other in range(11)]
        assert reached[:11] == expected and not any(reached[11:])
