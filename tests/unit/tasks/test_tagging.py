"""Batches of both languages: the smaller side repeats, and no order depends on anything else.

Language as a planted feature, a planted false cue, a planted rotation.
"""

from collections import Counter

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.tagging import Spelling, Text, Together, WordCodec
from tests.planted_tagging import CLASSES, accuracy, draw, language_accuracy, tagger, train


class Stream:
    def __init__(self, count):
        self.sizes = np.arange(count) % 7 + 1

    def __len__(self):
        return len(self.sizes)

    def part(self, indices):
        return {"lengths": torch.tensor(self.sizes[indices]), "indices": list(indices)}


def epoch(together, number, size=4):
    together.set_epoch(number)
    batches = together.batch_by_size(together.ordered_indices(), None, size)
    return [together.collater(batch)["net_input"]["parts"] for batch in batches]


def test_the_smaller_side_repeats_and_each_batch_has_as_many_of_both():
    parts = epoch(Together([Stream(30), Stream(8)], seed=1), 1)
    assert [[len(part["indices"]) for part in pair] for pair in parts][:7] == [[4, 4]] * 7
    large, small = ([i for pair in parts for i in pair[side]["indices"]] for side in (0, 1))
    assert sorted(large) == list(range(30))
    assert set(Counter(small).values()) <= {3, 4} and len(small) == 30


def test_every_sentence_comes_once_before_any_comes_again_over_epochs():
    together = Together([Stream(10), Stream(25)], seed=3, epoch_sentences=10)
    seen = [i for n in (1, 2) for pair in epoch(together, n) for i in pair[1]["indices"]]
    assert len(set(seen)) == 20


def test_the_order_depends_on_seed_and_epoch_alone():
    def orders(seed, number, disturb=0):
        np.random.seed(disturb)
        made = epoch(Together([Stream(30), Stream(8)], seed), number)
        return [[part["indices"] for part in pair] for pair in made]

    assert orders(1, 2) == orders(1, 2, disturb=5)
    assert orders(1, 2) != orders(1, 3) and orders(1, 2) != orders(2, 2)


def test_a_limit_of_tokens_is_refused():
    with pytest.raises(UserError, match="`--batch-size` must be the number of sentences"):
        Together([Stream(3)], 1).batch_by_size(np.arange(3), 100, 4)


def test_text_is_read_by_rows_of_vectors_and_letters_of_each_different_word_once(tmp_path):
    (tmp_path / "text").write_text("The cat\n\nthe the unseen cat\n")
    spelling = Spelling("ThecaTsun")
    text = Text(1, WordCodec("de", ["the", "cat"], spelling), tmp_path / "text")
    assert text.sizes.tolist() == [2, 4]
    part = text.part([1, 0])
    assert part["words"].tolist() == [[1, 1, 0, 2], [1, 2, 0, 0]]
    assert part["lang"] == 1 and part["lengths"].tolist() == [4, 2]
    assert len(part["forms"]) == 4 and "tag" not in part  # The, cat, the, unseen
    spelt = part["forms"][part["form"][0]]
    assert torch.equal(spelt[0], spelt[1]) and not torch.equal(spelt[0], spelt[2])


def of_language(seed):
    """Tables of 8 shared dimensions, and 8 that are constant in a language; the words' classes."""
    generator = torch.Generator().manual_seed(seed)
    classes = np.arange(120) % CLASSES
    centres = 2 * torch.randn(CLASSES, 8, generator=generator)
    content = centres[classes] + 0.8 * torch.randn(120, 8, generator=generator)
    offsets = 3 * torch.randn(2, 8, generator=generator)
    return [torch.cat([content, offset.expand(120, 8)], 1) for offset in offsets], classes


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_the_adversary_the_language_cannot_be_told_and_tags_can(seed):
    """Only a discriminator that learns faster than what it reads finds the last of the language:
    with equal rates it is at chance while a fresh classifier still is not.
    """
    tables, classes = of_language(seed)
    source, target = (draw(t, classes, 600, 10 * seed + n + 1, n) for n, t in enumerate(tables))
    held_out = [draw(t, classes, 400, 10 * seed + 100 + n, n) for n, t in enumerate(tables)]
    figures = {}
    for name in ("none", "reversal"):
        torch.manual_seed(seed)
        model = tagger(tables, torch.eye(16), name)
        train(model, name, source, target, 2000, lr=0.002, faster=4, batch=120, seed=seed)
        figures[name] = accuracy(model, held_out[0]), language_accuracy(model, *held_out)
    assert figures["none"][1] > 0.95
    assert abs(figures["reversal"][1] - 0.5) <= 0.1
    assert figures["reversal"][0] >= figures["none"][0] - 2
