"""The generator: its hypotheses, and that they depend on nothing else in the batch."""

import math

import pytest
import torch

from fairseq_xling.data.batch import source_side, target_side
from fairseq_xling.data.folder import CLS, MASK, NULL, PAD, SEP, SPECIALS, UNK
from fairseq_xling.generation.orderings import Candidates, Ordering
from fairseq_xling.models.best_tokens import best_tokens
from tests.word_by_word import make_word_by_word

WORDS = ([10, 11, 12, 13, 14], [20], [], [30, 31, 30, 32, 33, 34, 35, 36])
# T' > T, T' < T, the empty sentence, and T' = T with null and many-to-one.
ORDERS = ([0, 2, 1, -1, 3, 3, 5, 4, 6], [0, 2], [0, -1, 1], [0, 8, 7, 6, 5, -1, 3, 3, 1, 9])
KINDS = ["identity", "oracle", "predicted", "relative"]
HEADS = {"predicted": "order", "relative": "relative"}


def english(k: int) -> int:
    return SPECIALS + k


def german(k: int) -> int:
    return SPECIALS + 35 + k


@pytest.fixture
def translator(make_model):
    """English word k becomes German word k; what is aligned with nothing becomes German word 34."""
    model = make_model(lm_head="linear")
    words = {english(k): german(k) for k in range(34)}
    make_word_by_word(model.encoder, words, null_word=german(34))
    return model


@pytest.fixture
def of_kind(make_model, make_generator):
    """A model and a generator for each of `KINDS`."""

    def make(kind, count=1, **options):
        models = [make_model(HEADS.get(kind, ""), **options.pop("model", {}))]
        return models, make_generator(models, kind, length_candidates=count, **options)

    return make


def same(ours, theirs):
    assert ours["tokens"].tolist() == theirs["tokens"].tolist()
    assert ours["alignment"] == theirs["alignment"]
    assert ours["score"] == pytest.approx(theirs["score"], abs=1e-5)
    expected = pytest.approx(theirs["positional_scores"].tolist(), abs=1e-5)
    assert ours["positional_scores"].tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("separate", ["", "emb,1,3-4"])
def test_a_batch_of_one_gives_what_its_row_in_a_padded_batch_gives(
    of_kind, make_sample, kind, separate
):
    models, generator = of_kind(kind, align=True, model={"separate": separate})
    together = generator.generate(models, make_sample(*WORDS, orders=ORDERS))
    assert len(together) == len(WORDS)
    for words, order, row in zip(WORDS, ORDERS, together, strict=True):
        alone = generator.generate(models, make_sample(words, orders=[order]))
        same(alone[0][0], row[0])
        assert (len(row[0]["tokens"]) == 0) == (not words)


def test_candidates_scored_together_are_those_scored_alone(of_kind, make_sample):
    models, generator = of_kind("predicted", count=5, align=True)
    together = generator.generate(models, make_sample(*WORDS))
    assert [len(row) for row in together] == [5] * 4
    every = generator.ordering

    class OneOfThem(Ordering):
        number = 0

        def __call__(self, sources):
            found = every(sources)
            mine = slice(self.number, None, 5)
            longest = int(found.lengths[mine].max())
            return Candidates(
                found.lengths[mine], found.order[mine, :longest], found.log_scores[mine]
            )

    alone = [[] for _ in WORDS]
    generator.ordering = OneOfThem(None, models)
    for number in range(5):
        generator.ordering.number = number
        for row, found in zip(alone, generator.generate(models, make_sample(*WORDS)), strict=True):
            row += found
    for row, found in zip(alone, together, strict=True):
        row.sort(key=lambda hypothesis: -hypothesis["score"])
        for ours, theirs in zip(found, row, strict=True):
            same(ours, theirs)


def test_hypotheses_come_best_first_and_the_first_candidate_is_among_them(of_kind, make_sample):
    models, generator = of_kind("predicted", count=4, length_weight=0.1)
    rows = generator.generate(models, make_sample(*WORDS))
    models, generator = of_kind("predicted", count=1, length_weight=0.1)
    for row, (first,) in zip(rows, generator.generate(models, make_sample(*WORDS)), strict=True):
        scores = [hypothesis["score"] for hypothesis in row]
        assert scores == sorted(scores, reverse=True)
        assert any(h["score"] == pytest.approx(first["score"], abs=1e-5) for h in row)


def test_the_score_is_the_log_probability_of_tokens_and_order_over_all_tokens(
    make_model, make_generator, make_sample
):
    models = [make_model("order")]
    rows = {}
    for weight in (0.0, 1.0, 2.5):
        generator = make_generator(models, "predicted", length_weight=weight, keep_repeats=True)
        every, seen = generator.ordering, []
        generator.ordering = lambda sources, every=every, seen=seen: (
            seen.append(every(sources)) or seen[-1]
        )
        rows[weight] = generator.generate(models, make_sample(*WORDS))
    complete = 0
    for i, (none, one, more) in enumerate(zip(*rows.values(), strict=True)):
        tokens = int(seen[0].lengths[i]) - 1
        share = float(seen[0].log_scores[i]) / tokens
        assert share < 0
        assert one[0]["score"] == pytest.approx(none[0]["score"] + share, abs=1e-5)
        assert more[0]["score"] == pytest.approx(none[0]["score"] + 2.5 * share, abs=1e-5)
        if len(none[0]["tokens"]) == tokens:  # nothing was cut off
            complete += 1
            mean = none[0]["positional_scores"].mean().item()
            assert none[0]["score"] == pytest.approx(mean, abs=1e-5)
    assert complete


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([0, 1, 2, 3, 4], "0 1 2 /"),  # T' = T
        ([0, 3, 1, 4], "2 0 /"),  # T' < T
        ([0, 3, 3, 2, -1, 1, 1, 2, 4], "2 1 34 0 1 /"),  # T' > T
        ([0, -1, -1, 4], "34 /"),  # all null
        ([0, 4], "/"),
        ([0, -1, -1, -1, -1], "34"),  # even the end: nothing is written that is not there
        ([0, 1, 4, 3, 2], "0 /"),
    ],
)
def test_a_word_by_word_model_writes_the_words_of_the_order(
    translator, make_generator, make_sample, order, expected
):
    generator = make_generator([translator], "oracle")
    sample = make_sample([english(0), english(1), english(2)], orders=[order])
    ((hypothesis,),) = generator.generate([translator], sample)
    written = [
        "/" if token == SEP else str(token - german(0)) for token in hypothesis["tokens"].tolist()
    ]
    assert " ".join(written) == expected


def test_the_identity_writes_what_the_paper_says(make_model, make_generator, make_sample):
    """TreLM, Section 5.3: the likeliest word at each position, up to the end, without repeats."""
    model = make_model(init_std=0.5)
    rows = torch.randint(
        SPECIALS, SPECIALS + 40, (30, 9), generator=torch.Generator().manual_seed(1)
    )
    generator = make_generator([model], "identity")
    repeats = 0
    for words in rows.tolist():
        tokens = torch.tensor([[CLS, *words, SEP]])
        places = torch.arange(tokens.shape[1])[None]
        src = {"tokens": tokens, "langs": torch.zeros_like(tokens), "positions": places}
        middle = model.encoder.lower(src)[-1]
        tgt = {"langs": torch.ones_like(tokens), "positions": places}
        logits = model.encoder.logits(model.encoder.upper(middle, tgt)[-1][0, 1:])
        logits[:, [CLS, PAD, MASK, NULL]] = -torch.inf
        expected = []
        for word in logits.argmax(-1).tolist():
            if not expected or word != expected[-1]:
                expected.append(word)
            else:
                repeats += 1
            if word == SEP:
                break
        ((best,),) = generator.generate([model], make_sample(words))
        assert best["tokens"].tolist() == expected
    assert repeats


def test_links_are_between_words_and_a_joined_word_has_all_of_its_links(
    translator, make_generator, make_sample
):
    words = [english(k) for k in (5, 5, 7)]
    sample = make_sample(words, orders=[[0, 2, 1, 2, -1, 3, 4]])
    for keep, links in (
        (False, [(0, 0), (1, 0), (2, 2)]),
        (True, [(0, 1), (1, 0), (1, 2), (2, 4)]),
    ):
        generator = make_generator([translator], "oracle", align=True, keep_repeats=keep)
        ((hypothesis,),) = generator.generate([translator], sample)
        assert hypothesis["alignment"] == links
    ((hypothesis,),) = make_generator([translator], "oracle").generate([translator], sample)
    assert hypothesis["alignment"] is None


def test_the_oracle_reads_the_mean_of_further_words_in_training_and_translation_alike(
    make_model, make_generator, make_sample
):
    model = make_model()
    sample = make_sample([10, 11, 12], orders=[[0, 2, 1, 4]])
    further = torch.tensor([[[-1], [3], [-1], [-1]]])
    seen = []
    model.encoder.trilayer.register_forward_pre_hook(lambda module, x: seen.append(x[0]))
    for given in ({}, {"further": further}):
        both = {"net_input": {**sample["net_input"], **given}}
        make_generator([model], "oracle").generate([model], both)
    src = source_side(sample["net_input"]["src_tokens"], sample["net_input"]["src_lengths"], 0)
    middle = model.encoder.lower(src, ("en", "de"))[-1]
    change = seen[1][0] - seen[0][0]
    assert torch.allclose(change[1], (middle[0, 3] - middle[0, 2]) / 2, atol=1e-5)
    assert change[[0, 2, 3]].abs().max() < 1e-6


def test_the_identity_links_every_word_with_itself(translator, make_generator, make_sample):
    generator = make_generator([translator], align=True)
    rows = generator.generate([translator], make_sample([english(1), english(2)], []))
    assert [row[0]["alignment"] for row in rows] == [[(0, 0), (1, 1)], []]


def test_nothing_is_linked_after_the_end(translator, make_generator, make_sample):
    generator = make_generator([translator], "oracle", align=True)
    sample = make_sample([english(1), english(2)], orders=[[0, 2, 3, 1, 3]])
    ((hypothesis,),) = generator.generate([translator], sample)
    assert hypothesis["tokens"].tolist() == [german(2), SEP]
    assert hypothesis["alignment"] == [(1, 0)]


def test_a_hypothesis_is_what_fairseq_prints(translator, make_generator, make_sample):
    generator = make_generator([translator])
    rows = generator.generate([translator], make_sample([english(3), english(4)], [english(3)]))
    for (hypothesis,) in rows:
        assert set(hypothesis) == {
            *("tokens", "score", "alignment", "positional_scores", "attention")
        }
        assert hypothesis["attention"] is None
        assert type(hypothesis["score"]) is float
        tokens, scores = hypothesis["tokens"], hypothesis["positional_scores"]
        assert (tokens.dtype, scores.dtype) == (torch.long, torch.float32)
        assert tokens.shape == scores.shape
    before = rows[1][0]["positional_scores"].clone()
    rows[0][0]["positional_scores"].div_(math.log(2))  # as fairseq does, outside of no_grad
    assert torch.equal(rows[1][0]["positional_scores"], before)
    assert generator.eos == SEP


def test_an_ensemble_of_different_models_is_neither_of_them(
    make_model, make_generator, make_sample
):
    first, second = make_model(seed=1), make_model(seed=2)
    found = []
    for models in ([first], [second], [first, second], [second, first]):
        rows = make_generator(models).generate(models, make_sample(*WORDS))
        found.append([row[0]["score"] for row in rows])
    assert found[2] == pytest.approx(found[3], abs=1e-5)
    assert found[2] != pytest.approx(found[0], abs=1e-2)
    assert found[2] != pytest.approx(found[1], abs=1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_gives_scores_close_to_full_precision(make_sample, of_kind, kind, dtype):
    models, generator = of_kind(kind, model={"init_std": 0.05})
    full = generator.generate(models, make_sample(*WORDS, orders=ORDERS))
    models[0].to(dtype)
    half = generator.generate(models, make_sample(*WORDS, orders=ORDERS))
    for (ours,), (theirs,) in zip(half, full, strict=True):
        assert ours["score"] == pytest.approx(theirs["score"], rel=0.1, abs=0.1)


def test_each_side_is_read_and_written_in_its_language(make_model, make_generator, make_sample):
    words = [words for words in WORDS if words]
    model = make_model(separate="emb,1-4")
    there = make_generator([model]).generate([model], make_sample(*words))
    model.encoder.tokens.select("de").weight.data.zero_()[NULL] = 1.0  # English is read
    model.encoder.softmax.select("de").bias.data[german(1)] = 1e4
    rows = make_generator([model]).generate([model], make_sample(*words))
    assert all(row[0]["tokens"].tolist() == [german(1)] for row in rows)
    assert rows[0][0]["tokens"].tolist() != there[0][0]["tokens"].tolist()


def test_more_candidates_take_no_more_rows_at_a_time_than_fit_the_source(
    make_model, make_generator, make_sample, monkeypatch
):
    models = [make_model("order")]
    slots = []
    upper = models[0].encoder.upper

    def watched(middle, tgt, order, pair):
        slots.append(tgt["positions"].numel())
        return upper(middle, tgt, order, pair)

    monkeypatch.setattr(models[0].encoder, "upper", watched)
    sample = make_sample(*WORDS, *WORDS)
    make_generator(models, "predicted", length_candidates=6).generate(models, sample)
    assert len(slots) > 2
    assert max(slots) <= sample["net_input"]["src_tokens"].numel()


@torch.no_grad()
def test_generation_attends_as_training_does(make_model, make_generator, make_sample):
    models = [make_model()]
    sample = make_sample(WORDS[0], orders=ORDERS[:1])  # 9 positions from 7
    generator = make_generator(models, "oracle", keep_repeats=True)
    ((found,),) = generator.generate(models, sample)
    net, order = sample["net_input"], torch.tensor(ORDERS[:1])
    src = source_side(net["src_tokens"], net["src_lengths"], 0)
    final = models[0].encoder.halves(src, target_side(net["tgt_lengths"], 1), order)[1][-1]
    tokens, scores = best_tokens([final[0, 1:]], [models[0].encoder.logits], {SEP: 0.0, UNK: 0.0})
    count = len(found["tokens"])
    assert found["tokens"].tolist() == tokens[:count].tolist()
    assert torch.allclose(found["positional_scores"], scores[:count], atol=1e-5)
