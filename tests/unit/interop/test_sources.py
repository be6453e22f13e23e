"""Every family's states and logits equal those of the library that published it (SPEC T24, T27)."""

import json
import os
import pickle
import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.sources import read_source
from tests.tiny_sources import SIZES, randomise, write_folder, write_vocabulary

FAMILIES = {
    "bert": {},
    "roberta": {"type_vocab_size": 1},
    "xlm-roberta": {"pad_token_id": 1, "type_vocab_size": 2},
    "bert with relu": {"hidden_act": "relu"},
    "bert with gelu_new": {"hidden_act": "gelu_new"},
    "bert with an untied softmax": {"tie_word_embeddings": False},
    "camembert": {"pad_token_id": 1, "type_vocab_size": 1},
    "distilbert": {},
    "distilbert with relu": {"activation": "relu"},
    "distilbert with sinusoids": {"sinusoidal_pos_embds": True},
    "electra": {"embedding_size": 16},
    "xlm": {},
    "xlm with relu": {"gelu_activation": False},
    "xlm of two languages": {"n_langs": 2, "lang2id": {"de": 1, "en": 0}},
}
LENGTHS = (9, 5, 1)
T = max(LENGTHS)
PADDING_IDS = {"bert": 0, "distilbert": 0, "electra": 0, "xlm": 2}


def batch(family: str) -> dict[str, torch.Tensor]:
    """Random ids, segments and languages; rows of different lengths, padded."""
    generator = torch.Generator().manual_seed(7)
    padding = torch.arange(T) >= torch.tensor(LENGTHS)[:, None]
    drawn = torch.randint(6, 19, (3, T), generator=generator)
    return {
        "tokens": drawn.masked_fill(padding, PADDING_IDS.get(family.split()[0], 1)),
        "positions": torch.arange(T).expand(3, T).masked_fill(padding, 0),
        "segments": torch.randint(0, 2, (3, T), generator=generator),
        "langs": torch.randint(0, 2, (3, T), generator=generator),
        "padding_mask": padding,
    }


def theirs(model, family: str, src, segments: bool, languages: bool, head: bool = True):
    """The published library's states after every layer, and its logits."""
    inputs = {"input_ids": src["tokens"], "attention_mask": (~src["padding_mask"]).long()}
    if segments:
        inputs["token_type_ids"] = src["segments"]
    if languages:
        inputs["langs"] = src["langs"]
    with torch.no_grad():
        out = model(**inputs, output_hidden_states=True)
    return out.hidden_states, out.logits if head else None


def assert_close(ours, other, src, tolerance: float = 1e-5) -> None:
    real = ~src["padding_mask"]
    assert len(ours) == len(other)
    for mine, its in zip(ours, other, strict=True):
        assert its[real].abs().mean() > 0.01
        torch.testing.assert_close(mine[real], its[real], rtol=0, atol=tolerance)


@pytest.mark.parametrize("family", FAMILIES)
def test_states_of_every_layer_and_logits_equal_the_sources(family, tmp_path):
    changes = FAMILIES[family]
    model = write_folder(tmp_path, family.split()[0], **changes)
    source = read_source(tmp_path, untied=True)
    encoder, src = source.encoder(), batch(family)
    segments = source.shape.num_segments > 1
    if not segments:
        src.pop("segments")
    with pytest.raises(UserError, match="must be tied") if not source.tied else nullcontext():
        read_source(tmp_path)
    languages = source.shape.language_embeddings
    assert (segments, languages) == (
        changes.get("type_vocab_size", 2) > 1 and family.split()[0] not in ("xlm", "distilbert"),
        "n_langs" in changes,
    )

    states, logits = theirs(model, family, src, segments, languages)
    pair = ("source", "source")
    ours = encoder.states(src, pair)
    assert_close(ours, states, src)
    assert_close([encoder.logits(ours[-1], pair)], [logits], src)


def test_languages_of_xlm_are_named_by_its_configuration(tmp_path):
    write_folder(tmp_path, "xlm", n_langs=2, lang2id={"de": 1, "en": 0})
    assert read_source(tmp_path).languages == ("en", "de")


def test_the_state_loads_strictly_and_shares_no_storage_with_the_encoder(tmp_path):
    write_folder(tmp_path, "bert")
    source = read_source(tmp_path)
    kept = {name: tensor.clone() for name, tensor in source.state.items()}
    encoder = source.empty_encoder()
    encoder.load_state_dict(source.state)

    with torch.no_grad():
        for parameter in source.encoder().parameters():
            parameter.zero_()
    assert all(torch.equal(source.state[name], tensor) for name, tensor in kept.items())


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "xlm"])
def test_an_encoder_published_without_its_head_is_read_all_the_same(family, tmp_path):
    model = write_folder(tmp_path, family, head=False)
    source, src = read_source(tmp_path), batch(family)
    src.pop("segments")
    assert not source.has_head
    states, _ = theirs(model, family, src, False, False, head=False)
    assert_close(source.encoder().states(src), states, src)


def test_a_discriminator_of_electra_is_an_encoder_without_a_head(tmp_path):
    import transformers

    config = transformers.ElectraConfig(**SIZES, vocab_size=20, embedding_size=16)
    model = randomise(transformers.ElectraForPreTraining(config), seed=1)
    model.save_pretrained(tmp_path)
    write_vocabulary(tmp_path, "electra")
    source, src = read_source(tmp_path), batch("electra")
    assert not source.has_head
    assert all(name.startswith("discriminator_predictions.") for name in source.left_out)
    states, _ = theirs(model, "electra", src, True, False, head=False)
    assert_close(source.encoder().states(src), states, src)


def test_what_has_no_place_in_an_encoder_is_listed(tmp_path):
    write_folder(tmp_path, "bert", head=False)
    assert read_source(tmp_path).left_out == ("pooler.dense.bias", "pooler.dense.weight")


def test_weights_in_shards_old_names_half_precision_and_torch_files_are_the_same_weights(tmp_path):
    model = write_folder(tmp_path / "whole", "bert")
    expected = read_source(tmp_path / "whole").state
    whole = load_file(tmp_path / "whole" / "model.safetensors")
    old = {
        k.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): v
        for k, v in whole.items()
    }

    def variant(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file in ("config.json", "vocab.txt"):
            (folder / file).write_bytes((tmp_path / "whole" / file).read_bytes())
        return folder

    model.save_pretrained(variant("shards"), max_shard_size="3KB")
    assert (tmp_path / "shards" / "model.safetensors.index.json").is_file()
    save_file(old, variant("old") / "model.safetensors")
    wrapped = {f"module.{name}": tensor for name, tensor in whole.items()}
    save_file(wrapped, variant("wrapped") / "model.safetensors")
    torch.save(whole, variant("torch") / "pytorch_model.bin")
    for name in ("shards", "old", "wrapped", "torch"):
        state = read_source(tmp_path / name).state
        assert state.keys() == expected.keys()
        assert all(torch.equal(state[key], expected[key]) for key in expected)

    halved = {name: tensor.half() for name, tensor in whole.items()}
    save_file(halved, variant("half") / "model.safetensors")
    state = read_source(tmp_path / "half").state
    assert all(tensor.dtype == torch.float32 for tensor in state.values())
    assert all(torch.equal(state[k], expected[k].half().float()) for k in expected)


class _Touch:
    """Unpickling this would leave a file behind."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (os.mknod, (str(self.path),))


def test_weights_that_would_run_code_are_refused_and_do_not(tmp_path):
    write_folder(tmp_path, "bert")
    (tmp_path / "model.safetensors").unlink()
    torch.save({"weight": _Touch(tmp_path / "ran")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(
        UserError, match=r"pytorch_model.bin: not loaded, .* \(found posix.mknod\)$"
    ):
        read_source(tmp_path)
    (tmp_path / "model.pt").write_bytes(pickle.dumps(_Touch(tmp_path / "ran"), protocol=2))
    with pytest.raises(UserError, match=r"model\.pt: (not loaded|truncated)"):
        read_source(tmp_path / "model.pt")
    assert not (tmp_path / "ran").exists()


SUPPORTED = (
    "supported: Hugging Face folders of bert, camembert, distilbert, electra, roberta, xlm, "
    "xlm-roberta"
)
NOT_OURS = "/config.json: unsupported architecture: "
# By family: a changed setting, and how the line goes on after the path of the folder.
REFUSED = {
    "bert": [
        ({"model_type": "gpt2"}, f": unsupported architecture 'gpt2'; {SUPPORTED}"),
        ({"model_type": None}, "/config.json: names no model_type"),
        ({"model_type": "modernbert"}, ": unsupported architecture 'modernbert' (it has rotary p"),
        ({"hidden_act": "silu"}, f"{NOT_OURS}`hidden_act` must be 'gelu' or 'gelu_python' or"),
        ({"is_decoder": True}, f"{NOT_OURS}`is_decoder` must be False, got True"),
        ({"tie_word_embeddings": False}, ": has no tensor `cls.predictions.decoder.weight`"),
        ({"num_attention_heads": 3}, "/config.json: `hidden_size` must be a multiple of `num_att"),
        ({"num_hidden_layers": None}, "/config.json: `num_hidden_layers` must be an integer of a"),
        ({"hidden_dropout_prob": 7}, "/config.json: `hidden_dropout_prob` must lie in [0, 1], got"),
        ({"num_hidden_layers": 3}, ": has no tensor `encoder.layer.2.attention.self.query.weight`"),
        ({"num_hidden_layers": 10**9}, ": must have tensors of its 1000000000 layers, got 42"),
        ({"max_position_embeddings": 10**9}, ": `embeddings.position_embeddings.weight` must have"),
        ({"intermediate_size": 10**20}, "/config.json: `intermediate_size` must be below 21474836"),
        ({"num_hidden_layers": 1}, ": unsupported architecture: its layers have `encoder.layer.1"),
        ({"intermediate_size": 48}, ": `encoder.layer.0.intermediate.dense.weight` must have sha"),
        (
            {"vocab_size": 19},
            "/vocab.txt: ids must lie below the config's `vocab_size`, 19, got 19",
        ),
    ],
    "roberta": [
        ({"hidden_act": "relu"}, f"{NOT_OURS}`hidden_act` must be 'gelu' or 'gelu_python', got 'r"),
        ({"position_embedding_type": "relative_key"}, f"{NOT_OURS}`position_embedding_type` must"),
        ({"tie_word_embeddings": False}, f"{NOT_OURS}`tie_word_embeddings` must be True, got"),
        ({"max_position_embeddings": 2}, "/config.json: `max_position_embeddings` must exceed 2"),
    ],
    "electra": [({"embedding_size": 8}, f"{NOT_OURS}`embedding_size` must be `hidden_size`, 16")],
    "xlm": [
        ({"asm": True}, f"{NOT_OURS}`asm` must be False, got True"),
        ({"n_langs": 2, "lang2id": {"en": 2}}, "/config.json: ids in `lang2id` must lie below 2"),
    ],
}


@pytest.mark.parametrize(
    ("family", "changes", "line"), [(name, *row) for name, rows in REFUSED.items() for row in rows]
)
def test_a_source_that_our_layers_cannot_represent_is_refused_in_one_line(
    family, changes, line, tmp_path
):
    write_folder(tmp_path, family)
    config = json.loads((tmp_path / "config.json").read_text()) | changes
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=f"^{re.escape(str(tmp_path) + line)}.*$"):
        read_source(tmp_path)


def test_missing_and_damaged_files_are_named(tmp_path):
    def message() -> str:
        with pytest.raises(UserError) as caught:
            read_source(tmp_path)
        return str(caught.value).removeprefix(str(tmp_path))

    assert message() == ": no source model (it has no config.json)"
    write_folder(tmp_path, "bert", max_position_embeddings=SIZES["max_position_embeddings"])
    weights = tmp_path / "model.safetensors"
    whole = weights.read_bytes()

    weights.unlink()
    assert message() == ": no weights (it has neither model.safetensors nor pytorch_model.bin)"

    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "part.safetensors"}}))
    assert message().startswith("/part.safetensors: no such file, though model.safetensors.index")
    index.write_text(json.dumps({"weight_map": {"a": "../part.safetensors"}}))
    assert "index.json: a shard must be in the same folder, got '../part.safetensors'" in message()
    index.unlink()

    weights.write_bytes(whole)
    (tmp_path / "vocab.txt").unlink()
    assert message().startswith(": no vocabulary (it has none of vocab.txt, vocab.json, tokenizer.")
    with pytest.raises(UserError, match=r"nowhere\.pt: no such source checkpoint$"):
        read_source(tmp_path / "nowhere.pt")
