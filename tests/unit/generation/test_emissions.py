"""What holds of every emission that has several slots a source token, in translation."""

import pytest
import torch

from fairseq_xling.data.folder import SEP

WORDS = ([7, 8, 9], [10], [], [11, 12, 13, 14, 7, 8], [9, 9])
KINDS = [("ctc", 2, 0), ("ctc", 3, 0), ("lattice", 4, 0), ("ctc", 2, 1), ("lattice", 4, 2)]


@pytest.fixture(params=KINDS, ids=lambda kind: "-".join(map(str, kind)))
def translator(request, make_model):
    emission, *numbers = request.param
    slots = dict(zip(("upsample", "slot_layers"), numbers, strict=True))
    model = make_model(emission=emission, copy_embeddings=True, **slots)
    generator = torch.Generator().manual_seed(4)
    for parameter in model.emission.parameters():
        parameter.data.normal_(0, 0.5, generator=generator)
    return model


def test_a_sentence_is_translated_alone_as_in_company(translator, make_generator, make_sample):
    generator = make_generator([translator], align=True)
    together = generator.generate([translator], make_sample(*WORDS))
    for words, (theirs,) in zip(WORDS, together, strict=True):
        ((own,),) = generator.generate([translator], make_sample(words))
        assert own["tokens"].tolist() == theirs["tokens"].tolist()
        assert own["alignment"] == theirs["alignment"]
        assert own["score"] == pytest.approx(theirs["score"], abs=1e-4)


def test_an_empty_sentence_comes_out_empty_and_one_word_does_not_end_it(
    translator, make_generator, make_sample
):
    rows = make_generator([translator]).generate([translator], make_sample(*WORDS))
    assert [len(row[0]["tokens"]) == 0 for row in rows] == [not words for words in WORDS]
    for words, (one,) in zip(WORDS, rows, strict=True):
        assert not words or one["tokens"][-1] == SEP


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_paths_as_probable_as_full_precision(
    translator, make_generator, make_sample, dtype
):
    generator = make_generator([translator])
    exact = generator.generate([translator], make_sample(*WORDS))
    translator.to(dtype)
    for (own,), (theirs,) in zip(
        generator.generate([translator], make_sample(*WORDS)), exact, strict=True
    ):
        # Where two words are as good, the other may be chosen, and a text be shorter.
        sums = [one["score"] * max(1, len(one["tokens"])) for one in (own, theirs)]
        assert sums[0] == pytest.approx(sums[1], rel=0.1, abs=0.5)


def test_more_slots_than_128(make_model, make_generator, make_sample):
    words = [*range(7, 29)]
    for emission in ("ctc", "lattice"):
        model = make_model(emission=emission, upsample=8, copy_embeddings=True)
        placed = model.emission.place(torch.tensor([24]), None, torch.tensor([1]))
        assert placed.lengths.item() == 192
        ((one,),) = make_generator([model]).generate([model], make_sample(words))
        assert one["tokens"][-1] == SEP and torch.isfinite(one["positional_scores"]).all()
