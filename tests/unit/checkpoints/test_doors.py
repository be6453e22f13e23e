"""A checkpoint of plain data can name code of fairseq that evaluates its options; none may run.

Each test goes through another way by which a file's settings reach a class.
"""

import re
from argparse import Namespace

import pytest
import torch

from fairseq_xling.checkpoints.served import PATHS, SERVED, _registered, declared_types
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.sources import read_source
from fairseq_xling.tasks.predict import Predictor
from fairseq_xling.trained import load_trained

REFUSED = (UserError, SystemExit)


@pytest.fixture
def evaluated(marker):
    """The options of an architecture of fairseq that evaluates them."""
    return {"_name": "fconv_self_att", "pretrained": marker.code, "encoder_config": "{}"}


def tuned(whole_state, model):
    """Settings of `--task cross_lingual_transfer`, which builds the model that it is given."""
    data = whole_state["cfg"]["task"]["data"]
    return {"cfg.task": {"_name": "cross_lingual_transfer", "data": data}, "cfg.model": model}


@pytest.mark.parametrize("load", [Encoder.load, Predictor.load, read_source])
def test_an_architecture_of_fairseq_that_evaluates_its_options_is_refused_by_every_reader(
    whole_state, changed, marker, evaluated, load
):
    path = changed(tuned(whole_state, evaluated))
    with pytest.raises(REFUSED, match=r"`cfg.model` must name an architecture .*'fconv_self_att'"):
        load(path)
    assert not marker.path.exists()


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"cfg.model._name": "fconv_self_att"}, "`cfg.model` must name an architecture of fair"),
        ({"cfg.task._name": "masked_lm"}, "`cfg.task` must name a task of fairseq_xling or"),
        ({"cfg.model.lm_head": 7}, "`cfg.model.lm_head` must be of type str, got 7"),
        ({"cfg.model.compat": True}, "`cfg.model.compat` must be false: its models are read by"),
        ({"cfg.model.encoder_layers": -1}, "`cfg.model.encoder_layers` must be at least 1, got -1"),
        ({"cfg.model.dropout": 1.5}, r"`cfg.model.dropout` must be in \[0, 1\], got 1.5"),
        ({"cfg.model.encoder_layers": 10**9}, "`encoder_layers` must be at most .*got 1000000000"),
    ],
)
def test_readers_that_build_no_model_of_fairseq_check_what_a_file_names(changed, places, message):
    path = changed(places)
    with pytest.raises(UserError, match=f"{path}: {message}"):
        load_trained(path)


def test_an_option_that_no_class_declares_is_left_out(changed):
    state = load_trained(changed({"cfg.criterion.wer_args": "code"}))
    assert "wer_args" not in state["cfg"]["criterion"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda options: {"fconv_self_att": options},
        lambda options: Namespace(**options),
        lambda options: {**options, "_name": None, "arch": "fconv_self_att"},
        lambda options: {**options, "_name": "separable_transformer", "arch": "fconv_self_att"},
        lambda options: {**options, "_name": ["fconv_self_att"]},
        lambda options: {**options, "_name": "${model.encoder_config}"},
        lambda options: "fconv_self_att",
    ],
)
def test_its_name_is_found_wherever_fairseq_looks_for_it(
    whole_state, changed, marker, evaluated, loaded, wrap
):
    path = changed(tuned(whole_state, wrap(evaluated)))
    with pytest.raises(REFUSED, match=rf"{path}: `cfg.model"):
        loaded(path)
    assert not marker.path.exists()


@pytest.mark.parametrize("name", ["fconv_self_att", "transformer", "xyz"])
def test_an_encoder_that_is_fine_tuned_is_of_this_project(marker, name):
    from fairseq_xling.models.transfer_encoder import build_encoder

    task = Namespace(vocab_sizes={"en": 9}, dictionary_digests={}, source_dictionary=None)
    options = {"pretrained": marker.code, "encoder_layers": marker.code}
    with pytest.raises(UserError, match="must name an architecture of fairseq_xling"):
        build_encoder({"_name": name, **options}, task)
    assert not marker.path.exists()


def test_a_criterion_that_evaluates_its_options_is_refused(changed, marker, loaded):
    """fairseq-validate builds the criterion that the file names."""
    path = changed({"cfg.criterion": {"_name": "ctc", "wer_args": marker.code}})
    with pytest.raises(REFUSED, match=r"`cfg.criterion` must name a criterion .* got 'ctc'"):
        _, cfg, task = loaded(path)
        task.build_criterion(cfg.criterion)
    assert not marker.path.exists()


@pytest.mark.parametrize("task", ["sentence_prediction", "translation_multi_simple_epoch", "xyz"])
@pytest.mark.parametrize("key", ["_name", "task"])
def test_a_task_of_fairseq_that_we_do_not_serve_is_refused(changed, loaded, task, key):
    with pytest.raises(REFUSED, match=r"`cfg\.task` must name a task"):
        loaded(changed({f"cfg.task.{key}": task}))


def test_the_peer_that_we_serve_is_loaded_and_is_not_taken_for_an_encoder(peer, loaded):
    prepare_engine()
    path = peer()
    (model,), cfg, _ = loaded(path)
    assert cfg.model.encoder_layers == 1
    assert not hasattr(cfg.model, "lr"), "options of others are not kept"
    stored = torch.load(path, weights_only=True)["model"]
    assert torch.equal(
        model.state_dict()["encoder.layers.0.fc1.weight"], stored["encoder.layers.0.fc1.weight"]
    )
    with pytest.raises(UserError, match="contains a model of task 'translation', not a bilingual"):
        Encoder.load(path)


def test_options_of_the_peer_that_are_evaluated_are_refused(peer, marker, loaded):
    prepare_engine()
    for name, rule in (
        ("adaptive_softmax_cutoff", "must be a list of numbers"),
        ("encoder_xformers_att_config", "must be unset"),
        ("encoder_layers", "must be of type int"),
        ("max_source_positions", "must be of type int"),
    ):
        with pytest.raises(REFUSED, match=f"`cfg.model.{name}` {rule}"):
            loaded(peer(**{name: marker.code}))
    loaded(peer(xformers_att_config=marker.code))  # declared nowhere, yet read by fairseq
    assert not marker.path.exists()


@pytest.mark.parametrize("data", ["peer", "./peer", "../Jürgen's+data @1:b", "a  b/ü_ß-1,x=2"])
def test_the_data_folders_of_honest_checkpoints_are_paths(data):
    assert PATHS.holds(data) == ("'" not in data)


def test_values_of_the_peer_that_are_no_plain_names_are_refused(peer, loaded):
    for name in ("source_lang", "target_lang", "train_subset"):
        for value in ("../en", "/etc/en", "en\n", "e n", "`x`", "", "-rf", "é", "$(x)", "x;y;"):
            with pytest.raises(REFUSED, match=f"`cfg.task.{name}` must be a plain name"):
                loaded(peer(task={name: value}))
    for name, value in (("data", "x;touch marker;"), ("dataset_impl", "fasta")):
        with pytest.raises(REFUSED, match=rf"`cfg\.task\.{name}` must be "):
            loaded(peer(task={name: value}))


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("encoder_attention_heads", -1, "a number in [1, 1024]"),
        ("decoder_attention_heads", 0, "a number in [1, 1024]"),
        ("decoder_layers", 10**6, "a number in [1, 1024]"),
        ("encoder_ffn_embed_dim", 0, "a number in [1, 65536]"),
        ("max_target_positions", -7, "a number in [1, 65536]"),
        ("dropout", float("nan"), "a number in [0, 1]"),
        ("decoder_layerdrop", 1.5, "a number in [0, 1]"),
        ("adaptive_softmax_factor", 0.0, "a number in [1, 64]"),
        ("adaptive_softmax_cutoff", [5, 5], "a list of numbers that rise from 1"),
        ("adaptive_softmax_cutoff", [-5], "a list of numbers that rise from 1"),
        ("quant_noise_scalar", 1.0, "unset"),
        ("base_layers", 3, "unset"),
        ("encoder_layers_to_keep", [0], "unset"),
    ],
)
def test_each_number_of_the_peers_model_has_a_range(peer, loaded, name, value, rule):
    with pytest.raises(REFUSED, match=re.escape(f"`cfg.model.{name}` must be {rule}, got")):
        loaded(peer(**{name: value}))


def test_each_number_of_the_peers_task_has_a_range_or_is_left_out(peer, loaded):
    for value in (65536, 0, -1):
        with pytest.raises(REFUSED, match=r"multiple` must be a number in \[1, 128\], got"):
            loaded(peer(task={"required_seq_len_multiple": value}))
    kept = {"num_batch_buckets": 65536, "upsample_primary": 10**9, "max_source_positions": 77}
    (_,), _, task = loaded(peer(task=kept, quant_noise_pq=0.1, quant_noise_pq_block_size=3))
    assert (task.cfg.num_batch_buckets, task.cfg.upsample_primary) == (0, -1)
    assert task.cfg.max_source_positions == 77


def test_no_number_of_the_peer_is_without_a_range():
    """Only names, flags and lists are held to what all others are."""
    prepare_engine()
    for part, name in (("task", "translation"), ("model", "transformer")):
        chosen, _ = _registered(part, name)
        served = SERVED[part][name]
        for option, rules in declared_types(chosen).items():
            if all(rule.holds(3) for rule in rules) and not any(rule.holds("x") for rule in rules):
                assert option in {*served.allowed, *served.left}, option


def test_every_option_is_of_its_declared_type(changed, loaded):
    for name, value in (
        ("encoder_layers", "2"),
        ("encoder_layers", True),
        ("separate", 5),
        ("language_embeddings", "yes"),
        ("encoder_embed_dim", None),
        ("encoder_embed_dim", 10**400),
    ):
        with pytest.raises(REFUSED, match=rf"`cfg.model.{name}` must "):
            loaded(changed({f"cfg.model.{name}": value}))
    with pytest.raises(REFUSED, match=r"`cfg.task.mask_prob` must be of type float, got '0.1'"):
        loaded(changed({"cfg.task.mask_prob": "0.1"}))
    with pytest.raises(REFUSED, match=r"`cfg.common` must be a plain value|`cfg.common"):
        loaded(changed({"cfg.common": {"seed": torch.zeros(2)}}))


def test_a_task_and_a_model_of_the_users_own_folder_are_served(changed, loaded, monkeypatch):
    """They are told by the module that defines them, as one imported from `--user-dir` is."""
    prepare_engine()
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY, MODEL_REGISTRY

    import fairseq_xling.plugin  # noqa: F401

    own = type("Own", (MODEL_REGISTRY["separable_transformer"],), {"__module__": "their_folder"})
    monkeypatch.setitem(MODEL_REGISTRY, "own", own)
    monkeypatch.setitem(ARCH_MODEL_REGISTRY, "own", own)
    monkeypatch.setitem(ARCH_MODEL_NAME_REGISTRY, "own", "own")
    (model,), _, _ = loaded(changed({"cfg.model._name": "own"}))
    assert type(model) is own
