"""Translation with the CTC emission, and its training next to rows that predict positions."""

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from fairseq_xling.data.folder import CLS, NULL, PAD, SEP, SPECIALS
from fairseq_xling.models.ctc_beam import prefix_beam

WORDS = ([7, 8, 9], [10], [11, 12, 13, 14, 7, 8], [9, 9])


@pytest.fixture
def translator(make_model):
    return make_model(emission="ctc", upsample=3, copy_embeddings=True)


def slow_path(model, words, penalty=0.0):
    """One slot at a time: the best allowed token of each, and its log-probability."""
    return slow_logits(model, words, penalty).log_softmax(-1).max(-1)


def slow_logits(model, words, penalty=0.0):
    """Of each slot, of what is allowed there."""
    tokens = torch.tensor([[CLS, *words, SEP]])
    length = tokens.shape[1]
    langs = torch.zeros_like(tokens)
    src = {"tokens": tokens, "langs": langs, "positions": torch.arange(length)[None]}
    middle = model.encoder.lower(src)[-1]
    order = torch.tensor([[n // 3 for n in range(3 * length)]])
    tgt = {"langs": torch.ones_like(order), "positions": order}
    logits = model.encoder.logits(model.encoder.upper(middle, tgt, order)[-1][0])
    logits[:, [CLS, PAD, SEP, 4]] = -torch.inf
    logits[:, NULL] -= penalty
    return logits


@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_the_best_token_of_each_slot_is_written_without_blanks_and_repeats(
    translator, make_generator, make_sample, penalty
):
    generator = make_generator([translator], align=True, blank_penalty=penalty)
    rows = generator.generate([translator], make_sample(*WORDS))
    with torch.no_grad():
        for words, (hypothesis,) in zip(WORDS, rows, strict=True):
            scores, path = slow_path(translator, words, penalty)
            said, links, before = [], set(), NULL
            for slot, token in enumerate(path.tolist()):
                if token not in (NULL, before):
                    said.append(token)
                if token != NULL and 0 < slot // 3 <= len(words):
                    links.add((slot // 3 - 1, len(said) - 1))
                before = token
            assert hypothesis["tokens"].tolist() == [*said, SEP]
            assert hypothesis["alignment"] == sorted(links)
            assert hypothesis["positional_scores"][-1] == 0
            assert hypothesis["score"] == pytest.approx(scores.sum().item() / (len(said) + 1), 1e-4)


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_a_search_finds_translations_with_all_their_alignments(
    translator, make_generator, make_sample, penalty
):
    """Against the beam search over the logits of each sentence, with any word at any slot."""
    beam = 4
    generator = make_generator([translator], align=True, blank_penalty=penalty, beam=beam)
    rows = generator.generate([translator], make_sample(*WORDS))
    with torch.no_grad():
        for words, hypotheses in zip(WORDS, rows, strict=True):
            scores = slow_logits(translator, words, penalty).log_softmax(-1)
            others = [n for n in range(scores.shape[1]) if n != NULL]
            tokens = torch.tensor(others).expand(len(scores), -1)
            found = prefix_beam(
                tokens[None], scores[:, others][None], scores[:, NULL][None],
                torch.tensor([len(scores)]), beam,
            )  # fmt: skip
            expected = {}
            for text, nll in zip(found.tokens[0].tolist(), found.nll[0].tolist(), strict=True):
                kept = [token for token in text if token >= 0]
                expected[(*kept, SEP)] = -nll
            said = [tuple(one["tokens"].tolist()) for one in hypotheses]
            assert said == sorted(expected, key=lambda text: -expected[text])
            for text, one in zip(said, hypotheses, strict=True):
                assert one["score"] == pytest.approx(expected[text], rel=1e-3)
                assert one["positional_scores"].sum() == pytest.approx(expected[text], rel=1e-3)
                targets = [target for _, target in one["alignment"]]
                assert set(targets) <= set(range(len(text) - 1))


def test_a_search_does_not_depend_on_the_batch_and_leaves_empty_lines_empty(
    translator, make_generator, make_sample
):
    generator = make_generator([translator, translator], beam=3)
    together = generator.generate([translator] * 2, make_sample(*WORDS, []))
    for words, theirs in zip((*WORDS, []), together, strict=True):
        (own,) = generator.generate([translator] * 2, make_sample(words))
        assert [one["tokens"].tolist() for one in own] == [one["tokens"].tolist() for one in theirs]
    assert together[-1][0]["tokens"].tolist() == []


def batch(rows, translates):
    """Pairs of the same words on both sides, some of which translate."""
    tokens = pad_sequence([torch.tensor([CLS, *row, SEP]) for row in rows], True, PAD)
    padding = tokens == PAD
    positions = torch.arange(tokens.shape[1]).expand_as(tokens).masked_fill(padding, 0)
    side = {"tokens": tokens, "positions": positions, "padding_mask": padding}
    src = {**side, "langs": torch.zeros_like(tokens)}
    tgt = {**side, "langs": torch.ones_like(tokens), "predict": ~padding}
    extra = {"reordered": torch.tensor(translates, dtype=torch.long)[:, None]}
    return {"src": src, "tgt": tgt, "order": positions, "extra": extra}


def test_rows_that_translate_and_others_are_predicted_together_as_alone(translator, make_model):
    whole = translator(**batch(WORDS, [1, 0, 1, 0]))
    assert whole.emitted.rows.tolist() == [0, 2]
    assert whole.emitted.sizes.tolist() == [4, 7]
    for row, number in enumerate((0, 2)):
        alone = translator(**batch([WORDS[number]], [1]))
        assert len(alone.logits) == 0
        assert torch.allclose(alone.emitted.nll[0], whole.emitted.nll[row], rtol=1e-4)
    kept = [batch([WORDS[number]], [0]) for number in (1, 3)]
    logits = torch.cat([translator(**one).logits for one in kept])
    assert torch.allclose(whole.logits, logits, atol=1e-4)
    assert len(whole.where[0]) == len(whole.where[1]) == len(logits)


def test_glancing_is_for_training_and_shows_words_to_the_upper_half(translator):
    translator.glancing = 1.0
    alone = translator(**batch(WORDS, [1, 1, 1, 1]))
    assert alone.plain is None
    translator.train()
    torch.manual_seed(1)
    shown = translator(**batch(WORDS, [1, 1, 1, 1]))
    (loss, count), nll = shown.plain, shown.emitted.nll
    assert torch.allclose(loss, alone.emitted.nll.sum())
    assert count == alone.emitted.sizes.sum()
    assert not torch.allclose(loss, nll.sum())
    assert nll.grad_fn is not None and not loss.requires_grad


def test_an_aligned_translation_is_predicted_where_its_words_are_not_shown(make_model):
    model = make_model()
    model.glancing = 1.0
    given = batch(WORDS, [1, 0, 1, 0])
    before = model(**given)
    wrong = before.logits.argmax(-1) != given["tgt"]["tokens"][given["tgt"]["predict"]]
    rows = given["tgt"]["predict"].nonzero()[:, 0]
    model.train()
    torch.manual_seed(1)
    after = model(**given)
    # As many words are shown as were wrong, in the rows that translate.
    shown = [int(wrong[rows == row].sum()) for row in (0, 2)]
    assert min(shown) > 0
    left = [int((after.where[0] == row).sum()) for row in range(4)]
    whole = [int((rows == row).sum()) for row in range(4)]
    assert left == [whole[0] - shown[0], whole[1], whole[2] - shown[1], whole[3]]
    of_those = torch.isin(rows, torch.tensor([0, 2]))
    loss, count = after.plain
    words = given["tgt"]["tokens"][given["tgt"]["predict"]]
    expected = torch.nn.functional.cross_entropy(
        before.logits[of_those], words[of_those], reduction="sum"
    )
    assert torch.allclose(loss, expected, rtol=1e-4) and count == of_those.sum()


def test_a_word_that_is_shown_replaces_the_state(make_model):
    encoder = make_model(emission="ctc").encoder
    middle = torch.randn(1, 4, 32)
    order = torch.tensor([[0, 0, 1, 1]])
    tgt = {"langs": torch.ones_like(order), "positions": order}
    shown = torch.tensor([[-1, SPECIALS, -1, -1]])
    nothing = encoder.upper(middle, {**tgt, "shown": torch.full_like(order, -1)}, order)[0]
    assert torch.equal(nothing, encoder.upper(middle, tgt, order)[0])
    word = encoder.embedding_norm(encoder.tokens.select(None)(torch.tensor(SPECIALS)))
    same = torch.stack([middle[0, 0], word, middle[0, 1], middle[0, 1]])[None]
    found = encoder.upper(middle, {**tgt, "shown": shown}, order)[0]
    direct = {"langs": torch.ones(1, 4, dtype=torch.long), "positions": order}
    expected = encoder.upper(torch.cat([same, middle[:, -1:]], 1), direct, None)[0]
    assert torch.allclose(found, expected, atol=1e-5)
