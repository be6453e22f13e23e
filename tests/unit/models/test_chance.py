"""What two languages have in common is what they share: with nothing shared, words meet by chance.

The gate of SPEC A12, in encoders whose German is English under other names: word i of the one is
word i of the other. Training cannot bring them nearer, as no gradient of one language reaches a
parameter of the other.
"""

import torch

from fairseq_xling.analysis.retrieval import retrieval_accuracy
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan

WORDS, SEEDS = 40, 20


def accuracies(separate):
    """P@1 of German words for English ones by layer (seeds, 3), in encoders with random weights."""
    tokens = torch.tensor([[0, word, 2] for word in range(6, 6 + WORDS)])
    src = {"tokens": tokens, "langs": torch.zeros_like(tokens)}
    src["positions"] = torch.arange(3).expand_as(tokens)
    found = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        shape = EncoderShape(2, 16, 32, 4, 4, dropout=0.0, attention_dropout=0.0, init_std=0.3)
        sizes = {"en": 6 + WORDS, "de": 6 + WORDS}
        encoder = SeparableEncoder(shape, sizes, SharingPlan.parse(separate, 2)).eval()
        with torch.no_grad():
            english, german = (
                torch.stack(encoder.states(src, (lang, lang)))[:, :, 1] for lang in sizes
            )
        found.append(retrieval_accuracy(english, german)[:, 0])
    return torch.stack(found)


def test_words_of_languages_that_share_nothing_are_found_by_chance():
    found = accuracies("emb,1-2")
    error = found.std(0) / SEEDS**0.5
    assert (error < 0.01).all()
    assert ((found.mean(0) - 1 / WORDS).abs() < 4 * error).all()
    assert (accuracies("") == 1).all()  # what is found where all is shared
