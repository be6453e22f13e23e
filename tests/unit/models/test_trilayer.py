"""T1-T3, P4 and G4-G6 of TreLM: what the TRILayer reads, adds, sees and leaves alone."""

import dataclasses

import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import collate, target_side
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import NULL, PAD
from fairseq_xling.models.emissions import emissions
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import COPIES, TriEncoder, copy_number, take
from fairseq_xling.objectives import objectives
from tests.framed_rows import mono, pair

LANGS = {"en": 0, "de": 1}


@pytest.fixture
def make_tri():
    """``make_tri("1-2", layers=4, dropout=0.5)``: weights from a fixed seed, far from 0."""

    def make(separate="", layers=4, **changes) -> TriEncoder:
        torch.manual_seed(1)
        rates = {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.3}
        tables = {"language_embeddings": True, "num_segments": 2}
        shape = EncoderShape(layers, 16, 32, 4, 20, **rates | tables | changes)
        sizes = {"en": 30, "de": 30}
        return TriEncoder(shape, sizes, SharingPlan.parse(separate, layers)).eval()

    return make


@pytest.fixture
def make_batch(options):
    """A collated batch of ``(objective, row)``."""

    def make(*rows, pair=None):
        vocabulary = Vocabulary({"en": 30, "de": 30}, LANGS)
        examples = [
            objectives[name](options(mask_prob=0.4), vocabulary)(row, np.random.default_rng(7))
            for name, row in rows
        ]
        return collate(examples, [0] * len(rows), list(range(len(rows))), pair)

    return make


# What SPEC T2 names. A sentence of n words has positions 0 (<s>) to n + 1 (</s>).
PAIRS = {
    "shorter": pair([7, 8, 9, 10, 11], [20, 21], [0, 4, 1, 6]),
    "equally long": pair([12, 13, 14], [22, 23, 24], [0, 3, 2, 1, 4]),
    "longer": pair([15], [25, 26, 27, 28], [0, 1, -1, 1, -1, 2]),
    "many to one": pair([7, 8], [20, 20, 21], [0, 2, 2, 2, 3]),
    "no alignment": pair([9, 10], [23, 24, 25], [0, -1, -1, -1, 3]),
    "all null": pair([11, 12, 13], [26, 27], [-1, -1, -1, -1]),
    "no words": pair([], [], [0, 1]),
}


def slow_output(encoder, row, layers=None):
    """One row by itself, position by position, with no mask, no padding and no gather, after the
    first ``layers`` layers."""
    tokens, positions = encoder.tokens.select("en").weight, encoder.positions.select("en").weight
    language, segment = encoder.language_table.weight, encoder.segment_table.weight
    source, target = row.source, row.target
    states = [
        tokens[token] + positions[place] + language[LANGS[source.lang]] + segment[0]
        for place, token in enumerate(source.tokens.tolist())
    ]
    states.append(tokens[NULL] + language[LANGS[source.lang]] + segment[0])
    x = encoder.embedding_norm(torch.stack(states))[None]
    for slot in list(encoder.layers)[: len(encoder.layers) // 2]:
        x = slot.select("en")(x)
    read = []
    for place, index in enumerate(row.order.tolist()):
        state = x[0, index] if index >= 0 else x[0, len(source.tokens)]
        read.append(state + positions[place] + language[LANGS[target.lang]])
    x = encoder.trilayer(torch.stack(read)[None])
    for slot in list(encoder.layers)[len(encoder.layers) // 2 : layers]:
        x = slot.select("de")(x)
    return x[0]


def slow_slots(encoder, row, shown):
    """The same for slots in the top layers alone; ``shown`` has a word or -1 for each."""
    starts = len(encoder.layers) - encoder.shape.slot_layers
    positions, language = encoder.positions.select("en").weight, encoder.language_table.weight
    slots = []
    for place, state in enumerate(slow_output(encoder, row, starts)):
        for number, word in enumerate(shown[place]):
            if word >= 0:
                begun = encoder.embedding_norm(encoder.tokens.select("en").weight[word])
            else:
                begun = state
            begun = begun + positions[place] + language[LANGS[row.target.lang]]
            slots.append(begun + encoder.copy_table.weight[number])
    x = torch.stack(slots)[None]
    for slot in list(encoder.layers)[starts:]:
        x = slot.select("de")(x)
    return x[0]


@pytest.fixture
def batch(make_batch):
    return make_batch(*[("cdlm", row) for row in PAIRS.values()])["net_input"]


def output(encoder, *inputs):
    """The middle states, the null state last, and the final ones."""
    lower, upper = encoder.halves(*inputs)
    return lower[-1], upper[-1]


def run(encoder, batch):
    return output(encoder, batch["src"], batch["tgt"], batch.get("order"), batch.get("pair"))


# ---- T2


@torch.no_grad()
@pytest.mark.parametrize("layers", [2, 4])
def test_every_row_of_a_padded_batch_is_what_a_loop_over_its_positions_gives(
    make_tri, batch, layers
):
    encoder = make_tri(layers=layers)
    final = run(encoder, batch)[1]
    for number, (name, row) in enumerate(PAIRS.items()):
        expected = slow_output(encoder, row)
        assert torch.allclose(final[number, : len(expected)], expected, atol=1e-5), name


@torch.no_grad()
@pytest.mark.parametrize("slot_layers", [1, 2])
@pytest.mark.parametrize("upsample", [2, 3])
def test_slots_of_the_top_layers_alone_are_what_a_loop_over_them_gives(
    make_tri, slot_layers, upsample
):
    slots = {"emission": "ctc", "upsample": upsample, "slot_layers": slot_layers}
    encoder = make_tri(copy_embeddings=True, **slots)
    words = [[7, 8, 9, 10, 11], [12], [], [7, 7, 13]]
    rows = [pair(one, one, range(len(one) + 2)) for one in words]
    lengths = torch.tensor([len(one) + 2 for one in words])
    src = target_side(lengths, LANGS["en"])
    src["tokens"] = torch.full(src["positions"].shape, PAD)
    generator = torch.Generator().manual_seed(3)
    shown = torch.randint(-20, 30, (len(words), int(lengths.max()) * upsample), generator=generator)
    shown.clamp_(min=-1)
    for tokens, row in zip(src["tokens"], rows, strict=True):
        tokens[: len(row.source.tokens)] = torch.from_numpy(row.source.tokens)
    placed = emissions["ctc"](encoder.shape).place(lengths, None, torch.ones_like(lengths))
    middle = encoder.lower(src, ("en", "de"))[-1]
    tgt = {**placed.tgt, "shown": shown}
    final = encoder.upper(middle, tgt, placed.order, ("en", "de"))[-1]
    assert final.shape[1] == upsample * int(lengths.max())
    for number, row in enumerate(rows):
        own = shown[number].unflatten(0, (-1, upsample)).tolist()[: lengths[number]]
        expected = slow_slots(encoder, row, own)
        assert torch.allclose(final[number, : len(expected)], expected, atol=1e-5), row


@torch.no_grad()
def test_the_mean_of_several_source_words_is_read_as_a_loop_gives_it(make_tri, make_batch):
    """Rows with more links, fewer and none, next to a monolingual one, in one batch."""
    plain = PAIRS["shorter"]
    rows = [
        dataclasses.replace(plain, further=np.array([[-1, -1], [1, 5], [-1, 3], [-1, -1]])),
        dataclasses.replace(PAIRS["longer"], further=np.full((6, 0), -1)),
        dataclasses.replace(PAIRS["all null"], further=np.array([[-1], [2], [-1], [-1]])),
    ]
    encoder = make_tri()
    names = ["cdlm"] * len(rows)
    batch = make_batch(*zip(names, rows, strict=True), ("mlm", mono([7, 8], "de")))["net_input"]
    assert batch["tgt"]["further"].shape == (4, 6, 2)
    middle, final = run(encoder, batch)
    seen = take(middle, batch["order"], 6, batch["tgt"]["further"])
    null = middle[:, -1]
    expected = {
        (0, 1): (middle[0, 4] + middle[0, 1] + middle[0, 5]) / 3,
        (0, 2): (middle[0, 1] + middle[0, 3]) / 2,
        (0, 0): middle[0, 0],
        (1, 2): null[1],
        (1, 3): middle[1, 1],
        (2, 1): middle[2, 2],  # the order itself has none
        (2, 2): null[2],
        (3, 1): middle[3, 1],
    }
    for (b, u), state in expected.items():
        assert torch.allclose(seen[b, u], state, atol=1e-6), (b, u)
    for number, row in enumerate(rows):
        alone = run(encoder, make_batch(("cdlm", row))["net_input"])[1][0]
        assert torch.allclose(final[number, : len(alone)], alone, atol=1e-5), number


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_trilayer_reads_states_languages_and_positions_and_nothing_else(make_tri, batch, mode):
    """No LayerNorm, no dropout and no segment on the sum, also while training."""
    encoder = getattr(make_tri(dropout=0.9), mode)()
    seen = []
    encoder.trilayer.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    src = {**batch["src"], "segments": torch.ones_like(batch["src"]["tokens"])}
    tgt = {**batch["tgt"], "segments": torch.ones_like(batch["tgt"]["tokens"])}
    middle, _ = output(encoder, src, tgt, batch["order"])
    expected = take(middle, batch["order"], batch["order"].shape[1])
    expected = expected + encoder.positions.shared.weight[tgt["positions"]]
    expected = expected + encoder.language_table.weight[tgt["langs"]]
    assert torch.equal(seen[0], expected)


# ---- T1, G6: languages


@torch.no_grad()
def test_private_parts_serve_the_source_below_and_the_target_above(make_tri, make_batch):
    row = PAIRS["longer"]
    encoder = make_tri("emb,1,4")
    batch = make_batch(("cdlm", row), pair=("en", "de"))["net_input"]

    def result():
        return encoder.logits(run(encoder, batch)[1], batch["pair"])

    before = result()
    owners = {
        "tokens": lambda lang: encoder.tokens.private[lang].weight,
        "positions": lambda lang: encoder.positions.private[lang].weight,
        "softmax": lambda lang: encoder.softmax.private[lang].bias,
        "layer 1": lambda lang: encoder.layers[0].private[lang].fc1.bias,
        "layer 4": lambda lang: encoder.layers[3].private[lang].fc1.bias,
    }
    used = {}
    for name, parameter in owners.items():
        for lang in ("en", "de"):
            kept = parameter(lang).data.clone()
            parameter(lang).data += torch.randn_like(kept)
            used[name, lang] = not torch.equal(result(), before)
            parameter(lang).data = kept
    assert used == {
        **{("tokens", "en"): True, ("tokens", "de"): True},  # read; tied to the softmax
        **{("positions", "en"): True, ("positions", "de"): True},
        **{("softmax", "en"): False, ("softmax", "de"): True},
        **{("layer 1", "en"): True, ("layer 1", "de"): False},
        **{("layer 4", "en"): False, ("layer 4", "de"): True},
    }


# ---- T3: the monolingual pass


@torch.no_grad()
def test_the_identity_order_is_the_pass_without_an_order_bit_for_bit(make_tri, make_batch):
    rows = [mono(range(8, 16), "de"), mono([9], "de"), mono([], "en")]
    batch = make_batch(*[("mlm", row) for row in rows])["net_input"]
    assert "order" not in batch and "padding_mask" in batch["tgt"]
    width = batch["tgt"]["tokens"].shape[1]
    identity = torch.arange(width).expand(len(rows), -1)
    encoder = make_tri()
    for order in (identity, identity.masked_fill(batch["tgt"]["padding_mask"], -1)):
        states = output(encoder, batch["src"], batch["tgt"], order)[1]
        expected = output(encoder, batch["src"], batch["tgt"])[1]
        real = ~batch["tgt"]["padding_mask"]
        assert torch.equal(states[real], expected[real])
    assert torch.equal(encoder.states(batch["src"])[-1], expected)


# ---- G4: the null state


@torch.no_grad()
def test_the_null_state_is_the_null_symbols_and_every_source_token_may_attend_to_it(
    make_tri, batch
):
    encoder = make_tri()
    middle, _ = run(encoder, batch)
    weight = encoder.tokens.shared.weight
    assert not (batch["src"]["tokens"] == NULL).any()
    weight[PAD] += 1.0  # the released code's null is padding, and nobody attends to it
    assert torch.equal(run(encoder, batch)[0][~batch_padding(batch)], middle[~batch_padding(batch)])
    weight[NULL] += 1.0
    moved = (run(encoder, batch)[0] != middle).any(-1)
    assert moved[~batch_padding(batch)].all()


def batch_padding(batch):
    """(B, T + 1): the source's padding; the null state is none."""
    return torch.nn.functional.pad(batch["src"]["padding_mask"], (0, 1), value=False)


# ---- P4: restricted attention through the whole model


@pytest.mark.parametrize("order", [[0, 3, -1, 1, 1, 5], [0, -1, -1, -1, -1, 5]])
@pytest.mark.parametrize("company", [False, True])
def test_a_hidden_word_depends_on_the_words_it_is_aligned_with_only(
    make_tri, make_batch, order, company
):
    row = pair([7, 8, 9, 10], [20, 21, 22, 23], order)
    rows = [("brlm-attn", row)]
    if company:  # of other objectives and lengths
        rows += [("cdlm", PAIRS["longer"]), ("mlm", mono(range(8, 20), "de")), ("tlm", row)]
    batch = make_batch(*rows)["net_input"]
    encoder, source = make_tri(), len(row.source.tokens)
    embedded, make_sum = [], encoder._sum

    def kept_sum(src, lang):
        embedded.append(make_sum(src, lang).detach().requires_grad_())
        return embedded[-1]

    encoder._sum = kept_sum
    reached = {}
    for u in range(len(row.target.tokens)):
        run(encoder, batch)[1][0, source + u].pow(2).sum().backward()
        grad = embedded[-1].grad
        reached[u] = [place for place, state in enumerate(grad[0]) if state.any()]
        assert not grad[1:].any()  # nor on other rows
    for u, aligned in enumerate(order):
        mates = [source + v for v, index in enumerate(order) if index == aligned]
        assert reached[u] == ([aligned] if aligned >= 0 else []) + mates


def test_a_position_without_a_source_word_is_in_nobodys_group(make_tri):
    """In the group of the null state, 0, whose state it takes."""
    encoder, tokens = make_tri(layers=2), torch.tensor([[0, 7, 8, 2]])
    places = torch.arange(4)[None]
    tgt = {"langs": torch.ones_like(tokens), "positions": places}
    src = {"tokens": tokens, "positions": places, "langs": torch.zeros_like(tokens)}
    src["attn_group"] = torch.tensor([[1, 1, 2, 2]])
    read, order = [], torch.tensor([[0, -1, 1, 3]])
    encoder.trilayer.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
    final = output(encoder, src, tgt, order)[1]
    reached = []
    for u in range(4):
        (grad,) = torch.autograd.grad(final[0, u].pow(2).sum(), read[0], retain_graph=True)
        reached.append([place for place, state in enumerate(grad[0]) if state.any()])
    assert reached == [[0, 2], [1], [0, 2], [3]]


def test_copies_of_a_source_position_are_numbered_as_a_loop_does():
    order = torch.from_numpy(np.random.default_rng(3).integers(-1, 4, (5, 24)))
    found = copy_number(order)
    for row, numbers in zip(order.tolist(), found.tolist(), strict=True):
        for u, source in enumerate(row):
            earlier = row[:u].count(source) if source >= 0 else 0
            assert numbers[u] == min(earlier, COPIES - 1)


def test_copy_embeddings_change_only_what_is_repeated(make_tri, make_batch):
    row = pair([6, 7], [8, 9, 10], [0, 1, 1, 2, 3])
    batch = make_batch(("cdlm", row))["net_input"]
    plain, tri = make_tri(), make_tri(copy_embeddings=True)
    plain.load_state_dict({k: v for k, v in tri.state_dict().items() if "copy" not in k})
    side = {"src": batch["src"], "tgt": batch["tgt"], "order": batch["order"]}
    kept = []
    for model in (plain, tri):
        model.trilayer.register_forward_hook(lambda _, args, __: kept.append(args[0]))
        with torch.no_grad():
            model.halves(**side)
    changed = (kept[0] != kept[1]).any(-1)[0].tolist()
    assert changed == [False, False, True, False, False]
    torch.testing.assert_close(kept[1][0, 2] - kept[0][0, 2], tri.copy_table.weight[1])
    # Text in its own order repeats nothing.
    assert torch.equal(tri.states(batch["src"])[-1], plain.states(batch["src"])[-1])


def test_the_first_of_its_copies_is_never_trained_apart(make_tri, make_batch):
    tri = make_tri(copy_embeddings=True).train()
    batch = make_batch(("cdlm", pair([6, 7], [8, 9, 10], [0, 1, 1, 2, 3])))["net_input"]
    output(tri, batch["src"], batch["tgt"], batch["order"])[1].square().sum().backward()
    moved = tri.copy_table.weight.grad.abs().sum(1) > 0
    assert moved.tolist() == [False, True, *[False] * (COPIES - 2)]
