"""Where every weight of a migrated model comes from (SPEC T4, G1, G2, G3)."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import OWN, UserError
from fairseq_xling.mapping.vectors_file import Vectors
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.papers.trelm.initialise import InitOptions, initialise
from tests.tiny_sources import tiny_source

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<null>"]
# The vocabulary of the migrated model: the 4 in the middle are symbols of the tiny source, too.
SYMBOLS = [*SPECIALS, "▁de1", "▁en10", "▁en11", "▁en12", "▁en13", "de", "▁de2"]
SIZE = len(SYMBOLS)
SPECIAL_ROWS = {0: 9, 1: 8, 2: 7, 3: 6, 4: 5}  # ours: the tiny source's


def make(source, separate="", sizes=None, kind=TriEncoder, languages=True, **changes):
    """An encoder of the source's sizes, full of NaN."""
    s = source.shape
    fields = {name: getattr(s, name) for name in ("num_segments", "lm_head", "norm_eps")}
    fields |= {"language_embeddings": languages, **changes}
    positions = fields.pop("max_positions", s.max_positions)
    shape = EncoderShape(s.layers, s.dim, s.ffn_dim, s.heads, positions, **fields)
    sizes = sizes or {"en": SIZE, "de": SIZE}
    encoder = kind(shape, sizes, SharingPlan.parse(separate, s.layers))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.fill_(torch.nan)
    return encoder


def init(source, encoder=None, vectors=None, symbols=None, **options):
    """The initialised encoder's state."""
    encoder = make(source) if encoder is None else encoder
    given = symbols or {lang: SYMBOLS for lang in encoder.languages}
    initialise(encoder, source, given, InitOptions(**options), vectors)
    return {name: tensor.detach() for name, tensor in encoder.state_dict().items()}


def ready(scale=1.0, size=SIZE) -> Vectors:
    rows = np.random.default_rng(3).standard_normal((size, 16)).astype(np.float32) * scale
    return Vectors(rows, np.ones(size, dtype=np.int64))


def test_the_sources_own_words_are_those_of_equal_symbols_whatever_their_order():
    source = tiny_source(null=True)
    own = [f"▁en{number}" for number in (19, 10, 12, 0)]
    symbols = {lang: [*SPECIALS, *own] for lang in ("en", "de")}
    encoder = make(source, sizes={"en": 10, "de": 10})
    table = init(source, encoder, symbols=symbols, embeddings="source")["tokens.shared.weight"]
    assert torch.equal(table, source.embeddings[[9, 8, 7, 6, 5, 4, 19, 10, 12, 0]])


@pytest.mark.parametrize(("which", "index"), [("code", 2), ("text", 1)])
def test_what_the_source_has_is_copied_and_the_trilayer_is_its_middle_layer(which, index):
    source = tiny_source()
    state = init(source, trilayer_from=which)
    copied = [name for name in source.state if not name.startswith(("tokens", "softmax"))]
    for name in copied:
        assert torch.equal(state[name], source.state[name]), name
    layer = {name for name in source.state if name.startswith(f"layers.{index}.shared.")}
    for name in layer:
        ours = name.replace(f"layers.{index}.shared.", "trilayer.")
        assert torch.equal(state[ours], source.state[name]), name
    # And what is neither is listed here, so that a new part cannot be forgotten.
    rest = set(state) - set(copied) - {n for n in state if n.startswith("trilayer.")}
    assert rest == {
        "tokens.shared.weight",
        "language_table.weight",
        *(f"softmax.shared.{n}" for n in ("bias", "dense.weight", "dense.bias")),
        "softmax.shared.norm.weight",
        "softmax.shared.norm.bias",
    }


def test_the_report_says_where_each_part_comes_from():
    source, encoder = tiny_source(), make(tiny_source())
    vocabularies = {"en": SYMBOLS, "de": SYMBOLS}
    assert sorted(initialise(encoder, source, vocabularies, InitOptions(copy_shared=True))) == [
        "13 words: drawn, standard deviation 0.02; 4 symbols in common have the source's; special "
        "symbols have the source's, null their mean with noise",
        "TRILayer: a copy of layer 3 of 4",
        "embedding LayerNorm: the source's",
        "head: dense drawn, LayerNorm new",
        "head: tied to the embeddings, biases 0",
        "languages en, de: orthogonal",
        "layers: the source's 4",
        "positions: 20 of the source's 20",
        "segments: 2 of the source's 2, 0 drawn",
    ]


def test_nothing_stays_uninitialised_and_the_source_is_neither_changed_nor_shared():
    source = tiny_source()
    before = {name: tensor.clone() for name, tensor in source.state.items()}
    encoder = make(source)
    vectors = {"en": ready(), "de": ready()}
    state = init(source, encoder, vectors, embeddings="vectors", head="keep", copy_shared=True)
    assert all(torch.isfinite(tensor).all() for tensor in state.values())
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.zero_()
    assert all(torch.equal(source.state[name], before[name]) for name in before)
    assert np.array_equal(vectors["en"].vectors, ready().vectors)


def test_null_is_the_mean_of_the_sources_words_with_noise_or_the_sources_own():
    source = tiny_source(vocab=400)
    null = init(source)["tokens.shared.weight"][5]
    words = [row for number, row in enumerate(source.embeddings) if number not in (5, 6, 7, 8, 9)]
    noise = null - torch.stack(words).mean(0)
    assert 0 < noise.abs().max() < 5 * source.shape.init_std
    source = tiny_source(null=True)
    assert torch.equal(init(source)["tokens.shared.weight"][5], source.embeddings[4])


def test_random_embeddings_have_the_sources_deviation():
    source = tiny_source(init_std=0.07)
    size = 4000
    symbols = [*SPECIALS, *(f"▁x{n}" for n in range(size - 6))]
    encoder = make(source, sizes={"en": size, "de": size})
    state = init(source, encoder, symbols={"en": symbols, "de": symbols})
    drawn = state["tokens.shared.weight"][6:]
    assert float(drawn.std()) == pytest.approx(0.07, rel=0.02)
    assert float(drawn.mean()) == pytest.approx(0, abs=0.002)


def test_vectors_are_scaled_together_to_the_mean_length_of_the_sources():
    source, given = tiny_source(), ready(scale=37.0)
    table = init(source, vectors={"en": given, "de": given}, embeddings="vectors")
    rows, vectors = table["tokens.shared.weight"][6:], torch.from_numpy(given.vectors[6:])
    words = source.embeddings[[0, 1, 2, 3, 4, *range(10, 20)]]
    assert float(rows.norm(dim=1).mean()) == pytest.approx(float(words.norm(dim=1).mean()))
    factor = rows / vectors
    torch.testing.assert_close(factor, factor[0, 0].expand_as(factor))


def test_vectors_may_keep_their_length_and_empty_ones_are_drawn():
    source, given = tiny_source(), ready(scale=37.0)
    given.vectors[8] = 0
    options = {"embeddings": "vectors", "keep_norms": True}
    table = init(source, vectors={"en": given, "de": given}, **options)["tokens.shared.weight"]
    kept = [row for row in range(6, SIZE) if row != 8]
    assert torch.equal(table[kept], torch.from_numpy(given.vectors[kept]))
    assert 0 < float(table[8].norm()) < 1


def test_symbols_in_common_take_the_sources_embedding_where_asked():
    source = tiny_source()
    plain = init(source)["tokens.shared.weight"]
    table = init(source, copy_shared=True)["tokens.shared.weight"]
    for row, symbol in enumerate(SYMBOLS):
        if row >= 6 and symbol in source.symbols:
            assert torch.equal(table[row], source.embeddings[source.symbols.index(symbol)])
        else:
            assert torch.equal(table[row], plain[row])


def test_language_embeddings_are_orthogonal_and_as_long_as_drawn_ones():
    source = tiny_source()
    sizes = {lang: SIZE for lang in ("en", "de", "zh", "id")}

    def rows(how: str) -> torch.Tensor:
        encoder = make(source, sizes=sizes)
        return init(source, encoder, language_init=how)["language_table.weight"]

    length = 0.02 * 4  # of a vector of 16 values with deviation 0.02, on average
    expected = torch.eye(4) * length**2
    torch.testing.assert_close(rows("orthogonal") @ rows("orthogonal").T, expected)
    drawn = rows("normal") @ rows("normal").T
    assert float((drawn - expected).abs().max()) > 1e-4
    assert float(rows("normal").norm(dim=1).mean()) == pytest.approx(length, rel=0.3)


def test_language_embeddings_of_the_source_can_be_kept_by_name():
    source = tiny_source(languages=("fr", "en"))
    rows = init(source, language_init="source")["language_table.weight"]
    assert torch.equal(rows[0], source.state["language_table.weight"][1])
    drawn = init(source, language_init="orthogonal")["language_table.weight"]
    assert torch.equal(rows[1], drawn[1]) and not torch.equal(rows[0], drawn[0])


def test_the_head_is_new_or_the_sources_but_for_the_biases_of_words():
    source = tiny_source()
    fresh, kept = init(source), init(source, head="keep")
    for part in ("dense.weight", "dense.bias", "norm.weight", "norm.bias"):
        name = f"softmax.shared.{part}"
        assert torch.equal(kept[name], source.state[name])
    assert float(fresh["softmax.shared.dense.weight"].std()) == pytest.approx(0.02, rel=0.2)
    for part, value in (("dense.bias", 0), ("norm.weight", 1), ("norm.bias", 0), ("bias", 0)):
        assert set(fresh[f"softmax.shared.{part}"].tolist()) == {value}
    assert kept["softmax.shared.bias"].tolist() == [0] * SIZE


def test_a_whole_head_keeps_biases_and_null_can_be_predicted_unless_nothing_may_change():
    source = tiny_source()
    theirs = source.state["softmax.shared.bias"]
    whole = init(source, head="whole")["softmax.shared.bias"]
    same = init(source, head="whole", unchanged=True)["softmax.shared.bias"]
    for biases in (whole, same):
        assert torch.equal(biases[:5], theirs[list(SPECIAL_ROWS.values())])
        assert torch.equal(biases[7:11], theirs[10:14])
    assert whole[[5, 6, 11, 12]].tolist() == [0] * 4
    assert bool((same[[5, 6, 11, 12]] == theirs.min() - 30).all())


def test_tables_may_be_shorter_and_segments_more_than_the_sources():
    source = tiny_source()
    state = init(source, make(source, max_positions=7, num_segments=4))
    assert torch.equal(
        state["positions.shared.weight"], source.state["positions.shared.weight"][:7]
    )
    assert torch.equal(state["segment_table.weight"][:2], source.state["segment_table.weight"])
    assert 0 < float(state["segment_table.weight"][2:].abs().min()) < 0.1
    one = init(source, make(source, num_segments=1))["segment_table.weight"]
    assert torch.equal(one, source.state["segment_table.weight"][:1])
    without = tiny_source(num_segments=0)
    rows = init(without, make(without, num_segments=2))["segment_table.weight"]
    assert rows[0].tolist() == [0] * 16 and float(rows[1].abs().min()) > 0


def test_private_parts_each_begin_as_the_source_and_vocabularies_as_their_own():
    source = tiny_source()
    german = [*SPECIALS, "▁en10", "▁de9"]
    encoder = make(source, "emb,1", sizes={"en": SIZE, "de": 8}, languages=False)
    vectors = {"en": ready(), "de": ready(size=8)}
    symbols = {"en": SYMBOLS, "de": german}
    options = {"embeddings": "vectors", "keep_norms": True}
    state = init(source, encoder, vectors, symbols, **options)
    for lang, size in (("en", SIZE), ("de", 8)):
        rows = state[f"tokens.private.{lang}.weight"]
        assert torch.equal(rows[6:], torch.from_numpy(vectors[lang].vectors[6:]))
        assert torch.equal(rows[0], source.embeddings[9])
        assert state[f"softmax.private.{lang}.bias"].shape == (size,)
        name = "layers.0.shared.fc1.weight"
        assert torch.equal(state[f"layers.0.private.{lang}.fc1.weight"], source.state[name])
        name = "positions.shared.weight"
        assert torch.equal(state[f"positions.private.{lang}.weight"], source.state[name])


def test_an_output_that_is_not_tied_begins_as_the_input():
    source = tiny_source()
    encoder = make(source, "softmax", languages=False)
    state = init(source, encoder)
    for lang in ("en", "de"):
        rows = state[f"output_tokens.private.{lang}.weight"]
        assert rows.shape == state["tokens.shared.weight"].shape
        assert torch.equal(rows[:5], state["tokens.shared.weight"][:5])


def test_a_model_of_the_same_words_without_trilayer_has_the_sources_states():
    source = tiny_source()
    theirs = source.encoder()
    order = [9, 8, 7, 6, 5, *(n for n in range(20) if n not in (5, 6, 7, 8, 9))]  # ours to theirs
    order.insert(5, 5)  # null, which is not asked for below
    symbols = [*SPECIALS, *(source.symbols[n] for n in order[6:])]
    encoder = make(source, sizes={"en": 21}, kind=SeparableEncoder, languages=False)
    init(source, encoder, symbols={"en": symbols}, copy_shared=True, head="keep")
    tokens = torch.tensor([[0, 8, 19, 4, 3, 2], [0, 20, 6, 2, 1, 1]])
    side = {
        "positions": torch.arange(6).expand(2, 6),
        "segments": torch.tensor([[0, 0, 0, 1, 1, 1]] * 2),
        "padding_mask": tokens == 1,
    }
    states = encoder.eval().states({"tokens": tokens, **side})
    expected = theirs.states({"tokens": torch.tensor(order)[tokens], **side})
    for ours, its in zip(states, expected, strict=True):
        torch.testing.assert_close(ours, its)


def test_draws_depend_on_the_seed_alone_and_each_part_has_its_own():
    source = tiny_source()
    torch.manual_seed(1)
    first = init(source)
    torch.manual_seed(2)
    again, other = init(source), init(source, seed=2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    changed = {name for name in first if not torch.equal(first[name], other[name])}
    assert changed == {
        "tokens.shared.weight",
        "language_table.weight",
        "softmax.shared.dense.weight",
    }
    vectors = {"en": ready(), "de": ready()}
    for options, expected in (
        ({"embeddings": "vectors", "vectors": vectors}, {"tokens.shared.weight"}),
        ({"language_init": "normal"}, {"language_table.weight"}),
        ({"trilayer_from": "text"}, {name for name in first if name.startswith("trilayer.")}),
    ):
        state = init(source, **options)
        assert {name for name in first if not torch.equal(first[name], state[name])} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": {"token_positions": False}}, "tiny: has no position embeddings to start from"),
        ({"make": {"layers": 2}}, "`layers` of the model must be the source's, 4 in tiny, got 2"),
        (
            {"make": {"norm_eps": 1e-5}},
            "`norm_eps` of the model must be the source's, 1e-12 in tiny, got 1e-05",
        ),
        (
            {"make": {"activation": "relu"}},
            "`activation` of the model must be the source's, gelu in tiny, got relu",
        ),
        ({"make": {"max_positions": 21}}, "`--max-positions` must be at most 20, the rows that t"),
        ({"make": {"num_segments": 0}}, "`--num-segments` must be at least 1, since tiny adds a"),
        ({"embeddings": "vectors"}, "`--embeddings vectors` needs `--vectors` of language en"),
        (
            {"embeddings": "source"},
            "`--embeddings source` needs the vocabulary of tiny, which lacks 3 symbols of 'en', "
            "such as '▁de1'; prepare the text with `--tokenizer`",
        ),
        ({"embeddings": "vektors"}, "unknown `--embeddings` 'vektors'; did you mean 'vectors'?"),
        ({"trilayer_from": "cod"}, "unknown `--trilayer-from` 'cod'; did you mean 'code'? known"),
        ({"language_init": "x"}, "unknown `--language-init` 'x'; known: normal, orthogonal"),
        ({"head": "x"}, "unknown `--head` 'x'; known: keep, reset, whole" + OWN),
        (
            {"language_init": "source"},
            "`--language-init source`: tiny has no embedding of any of en, de",
        ),
        (
            {"make": {"lm_head": "linear"}, "head": "keep"},
            "`--head keep` needs `--lm-head bert`, the source's, got 'linear'",
        ),
        (
            {"source": {"head": False}, "head": "keep"},
            "`--head keep` needs a source with an LM head, tiny has none",
        ),
        (
            {"make": {"sizes": {f"l{n}": SIZE for n in range(17)}}},
            "`--language-init orthogonal` supports at most 16 languages, the width of the encoder",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    options = dict(options)
    source, changes = tiny_source(**options.pop("source", {})), dict(options.pop("make", {}))
    encoder = make(tiny_source(changes.pop("layers", 4)), **changes)
    shape = dataclasses.replace(source.shape, **options.pop("shape", {}))
    source = dataclasses.replace(source, shape=shape)
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        init(source, encoder, **options)
