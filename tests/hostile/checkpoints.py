"""Hostile checkpoints of every kind, through every call that reads one.

A kind is a function that writes a hostile file in place of a valid checkpoint. Those that damage
settings damage them wherever the checkpoint has them: an encoder's are those of its model, of a
fine-tuned model's encoder, or of one of CLCR's two.
"""

import argparse
import dataclasses
import functools
import io
import json
import os
import pickle
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairseq_xling.checkpoints.files import load_plain
from tests.hostile.calls import calls, checkpoint_places
from tests.hostile.machine import MARKER, Case
from tests.tiny_world import World

HOSTILE = "hostile.pt"
CODE = f"__import__('pathlib').Path('{MARKER}').touch()"


class Runs:
    """Unpickled, it writes the marker."""

    def __init__(self, function: Callable[..., Any] = os.system, *arguments: Any):
        self.call = function, arguments or (f"touch {MARKER}",)

    def __reduce__(self) -> Any:
        return self.call


@dataclass(frozen=True)
class Kind:
    """``write(valid, target)`` writes the hostile file.

    ``resumed``: only where a training is resumed from the file is anything read that is wrong.
    ``either``: why it does no harm where it is not noticed.
    ``setting``: it is one of the model's or the task's settings.
    """

    write: Callable[[Path, Path], None]
    resumed: bool = False
    either: str = ""
    accepted: str = ""
    setting: bool = False


KINDS: dict[str, Kind] = {}
State = dict[str, Any]


def _file(name: str) -> Callable[..., Any]:
    """A kind that writes the file itself."""

    def register(write: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        KINDS[name] = Kind(write)
        return write

    return register


def _state(name: str, change: Callable[[State], Any], **more: Any) -> None:
    """A kind whose contents ``change`` alters or, where it returns something, replaces."""

    def write(valid: Path, target: Path) -> None:
        state = load_plain(valid)
        torch.save(made if (made := change(state)) is not None else state, target)

    KINDS[name] = Kind(write, **more)


# ---- files


def _bytes(name: str, change: Callable[[bytes], bytes]) -> None:
    KINDS[name] = Kind(
        lambda valid, target: target.write_bytes(change(valid.read_bytes())) and None
    )


def _damaged(data: bytes, start: float, length: int) -> bytes:
    place = int(len(data) * start)
    return data[:place] + bytes(255 - byte for byte in data[place : place + length]) + (
        data[place + length :]
    )  # fmt: skip


_bytes("empty", lambda data: b"")
_bytes("one byte", lambda data: b"\x80")
_bytes("text", lambda data: b"This is not a checkpoint.\n" * 100)
_bytes("half a file", lambda data: data[: len(data) // 2])
_bytes("without its last byte", lambda data: data[:-1])
_bytes("without its last hundred bytes", lambda data: data[:-100])
_bytes("bytes before it", lambda data: b"PK\x03\x04 nothing" + data)
_bytes("zeros", lambda data: bytes(len(data)))
_bytes("damaged directory", lambda data: _damaged(data, 0.995, 200))
_bytes("damaged pickle", lambda data: _damaged(data, 0.005, 400))
_bytes("an HTML page", lambda data: b"<!DOCTYPE html><html><body>404</body></html>")


@_file("a folder")
def _folder(valid: Path, target: Path) -> None:
    target.mkdir()


@_file("a zip of other files")
def _other_zip(valid: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("readme.txt", "nothing")


def _zip(target: Path, pickled: bytes, **options: Any) -> None:
    """A file in torch's format whose pickle is ``pickled``."""
    with zipfile.ZipFile(target, "w", **options) as file:
        file.writestr("archive/data.pkl", pickled)
        file.writestr("archive/version", "3\n")
        file.writestr("archive/byteorder", "little")


def _code(name: str, *call: Any) -> None:
    """Code in each of the formats that torch reads."""

    def write(valid: Path, target: Path) -> None:
        _zip(target, pickle.dumps({"model": Runs(*call)}, protocol=2))

    KINDS[f"code: {name}, zip"] = Kind(write)
    KINDS[f"code: {name}, pickle"] = Kind(
        lambda valid, target: target.write_bytes(pickle.dumps(Runs(*call))) and None
    )


_code("os.system")
_code("eval", eval, CODE)
_code("exec", exec, CODE)
_code("subprocess", __import__("subprocess").Popen, ["touch", MARKER])
_code("open", open, MARKER, "w")


@_file("code: among the tensors")
def _code_inside(valid: Path, target: Path) -> None:
    state = load_plain(valid)
    state["model"]["encoder.more"] = Runs()
    torch.save(state, target)


@_file("code: in the settings")
def _code_in_settings(valid: Path, target: Path) -> None:
    state = load_plain(valid)
    state["cfg"]["model"]["dropout"] = Runs(eval, CODE)
    torch.save(state, target)


@_file("code: torch's older format")
def _older(valid: Path, target: Path) -> None:
    torch.save(load_plain(valid) | {"more": Runs()}, target, _use_new_zipfile_serialization=False)


@_file("code: tar")
def _tar(valid: Path, target: Path) -> None:
    with tarfile.open(target, "w") as file:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            data = pickle.dumps(Runs(), protocol=2)
            about = tarfile.TarInfo(name)
            about.size = len(data)
            file.addfile(about, io.BytesIO(data))


@_file("code: a TorchScript archive")
def _script(valid: Path, target: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    torch.jit.script(Module()).save(str(target))


@_file("a whole module")
def _module(valid: Path, target: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), target)


@_file("a NumPy array of objects")
def _objects(valid: Path, target: Path) -> None:
    torch.save({"model": np.array([Runs(eval, CODE), 1], dtype=object)}, target)


@_file("a pickle nested 100,000 deep")
def _deep(valid: Path, target: Path) -> None:
    _zip(target, b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")


@_file("a pickle that doubles itself 30 times")
def _doubling(valid: Path, target: Path) -> None:
    pickled = b"\x80\x02]q\x00"
    for level in range(30):
        pickled += b"]q" + bytes([level + 1]) + b"(" + (b"h" + bytes([level])) * 2 + b"e"
    _zip(target, pickled + b".")


@_file("a compressed string of 2 GB")
def _bomb(valid: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("archive/data.pkl", "w", force_zip64=True) as out:
            out.write(b"\x80\x04\x8e" + struct.pack("<Q", 2 << 30))
            for _ in range(128):
                out.write(bytes(16 << 20))
            out.write(b".")
        file.writestr("archive/version", "3\n")


# ---- contents

_state("a list", lambda state: [state])
_state("None", lambda state: {"model": None})
_state("a tensor", lambda state: torch.zeros(3))
_state("an empty dict", lambda state: {})
for _name in ("model", "cfg"):
    _state(f"no {_name}", lambda state, name=_name: state.pop(name) and None)
    for _value in (None, [], "text", 7, {}):
        _state(f"{_name} is {_value!r}", lambda state, n=_name, v=_value: state.update({n: v}))
_state("args of another program", lambda state: state.update(cfg=None, args={"arch": "x"}))
_state(
    "args that name an architecture whose options are evaluated",
    lambda state: state.update(
        cfg=None,
        args=argparse.Namespace(
            arch="fconv_self_att", task=state["cfg"]["task"]["_name"], **_evaluated("x")
        ),
    ),
)


def _first(state: State) -> str:
    """A weight of a layer, which a BiLSTM calls weight_ih_l0."""
    return next(n for n in state["model"] if ".weight" in n and "layers" in n)


def _weights(name: str, change: Callable[[torch.Tensor], Any], **more: Any) -> None:
    """One tensor of an encoder's layer replaced."""

    def apply(state: State) -> None:
        place = _first(state)
        state["model"][place] = change(state["model"][place])

    _state(f"a weight {name}", apply, **more)


_weights("of NaN", lambda x: torch.full_like(x, float("nan")))
_weights("with one NaN", lambda x: x.index_put((torch.tensor([0]),), torch.tensor(float("nan"))))
_weights("of infinity", lambda x: torch.full_like(x, float("inf")))
_weights("of integers", lambda x: (x * 100).long())
_weights("of bytes", lambda x: x.abs().byte())
_weights("of truth values", lambda x: x > 0)
_weights("of complex numbers", lambda x: x.to(torch.complex64))
_weights("that is a number", lambda x: 1.5)
_weights("that is text", lambda x: CODE)
_weights("that is None", lambda x: None)
_weights("that is a list", lambda x: x.tolist())
_weights("transposed", lambda x: x.transpose(0, -1).contiguous())
_weights("without rows", lambda x: x[:0])
_weights("of one dimension more", lambda x: x[None])
_weights("of a tebibyte in a few bytes", lambda x: torch.zeros(1).expand(1 << 20, 1 << 18))
_weights("that is sparse", lambda x: x.to_sparse())
_weights("on the meta device", lambda x: torch.empty_like(x, device="meta"))
_weights("of half precision", lambda x: x.half(), accepted="trainings in half precision save so")


def _renamed(state: State) -> None:
    name = _first(state)
    state["model"][name + "x"] = state["model"].pop(name)


_state("a weight renamed", _renamed)
_state("a weight missing", lambda state: state["model"].pop(_first(state)) is None or None)
_state("a weight more", lambda state: state["model"].update({"encoder.more": torch.zeros(2)}))
_state("a weight whose name is a number", lambda state: state["model"].update({7: torch.ones(1)}))
_state("a weight whose name is 1 MB", lambda s: s["model"].update({"x" * (1 << 20): torch.ones(1)}))
_state("no weights", lambda state: state["model"].clear())


def _all_weights(state: State) -> None:
    state["model"] = {
        name: torch.full_like(x, float("nan")) if x.is_floating_point() and "_extra" not in name
        else x
        for name, x in state["model"].items()
    }  # fmt: skip


_state("all weights NaN", _all_weights)

# ---- the identity that our models store beside their weights


def _identity(name: str, change: Callable[[Any], Any]) -> None:
    """The identity's JSON, as a value or as bytes."""

    def apply(state: State) -> None:
        old = state["model"]["_extra_state"]
        made = change(json.loads(bytes(int(x) for x in old.tolist())))
        text = made if isinstance(made, bytes) else json.dumps(made).encode()
        state["model"]["_extra_state"] = torch.tensor(list(text), dtype=torch.float32)

    _state(f"identity {name}", apply)


_identity("is no JSON", lambda old: b"{")
_identity("is not UTF-8", lambda old: b"\xff\xfe{}")
_identity("is empty", lambda old: b"")
_identity("is a list", lambda old: [1, 2])
_identity("is nested 100,000 deep", lambda old: b"[" * 100_000 + b"]" * 100_000)
_identity("has a number of 5,000 digits", lambda old: b'{"languages": 1' + b"0" * 5000 + b"}")
_identity("has no dictionaries", lambda old: {k: v for k, v in old.items() if k != "dictionaries"})
_identity("has dictionaries of a wrong kind", lambda old: old | {"dictionaries": [1]})
_identity("has other dictionaries", lambda old: old | {"dictionaries": {"en": "0" * 64}})
_state(
    "identity of letters beyond bytes",
    lambda state: state["model"].update(_extra_state=torch.full((9,), 1e9)),
)
_state(
    "identity of NaN",
    lambda state: state["model"].update(_extra_state=torch.full((9,), float("nan"))),
)
_state("identity is text", lambda state: state["model"].update(_extra_state="{}"))
_state(
    "identity has two dimensions",
    lambda state: state["model"].update(_extra_state=torch.ones(2, 2)),
)

# ---- settings

_FIRST_SETTING = len(KINDS)

# An encoder's settings, as each kind of checkpoint names them.
_CLCR_NAMES = {
    "encoder_layers": "layers",
    "encoder_embed_dim": "dim",
    "encoder_ffn_embed_dim": "ffn_dim",
    "encoder_attention_heads": "heads",
}


def _settings(state: State, change: Callable[[dict[str, Any]], Any]) -> None:
    """``change`` an encoder's settings where this checkpoint has them."""
    model = state["cfg"]["model"]
    if "clcr_config" in model:
        config = json.loads(model["clcr_config"])
        shape = config["encoders"]["en"]["shape"]
        theirs = {ours: shape.pop(name) for ours, name in _CLCR_NAMES.items()}
        change(theirs)
        shape |= {_CLCR_NAMES.get(name, name): value for name, value in theirs.items()}
        model["clcr_config"] = json.dumps(config)
    elif "encoder_config" in model:
        config = json.loads(model["encoder_config"])
        change(config)
        model["encoder_config"] = json.dumps(config)
    else:
        change(model)


def _setting(name: str, value: Any, **more: Any) -> None:
    shown = value if len(repr(value)) < 40 else f"{repr(value)[:20]}..."
    _state(
        f"{name} is {shown!r}",
        lambda state: _settings(state, lambda config: config.update({name: value})),
        **more,
    )


for _value in (10**9, 10**19, -1, 0, 2.5, float("nan"), "2", CODE, None, [2], {"a": 1}, True):
    _setting("encoder_layers", _value)
for _name in ("encoder_embed_dim", "encoder_ffn_embed_dim", "max_positions"):
    for _value in (10**10, -16, 0, "16", None, 16.5):
        _setting(_name, _value)
for _value in (0, -4, 3, 10**9, "4", None):
    _setting("encoder_attention_heads", _value)
for _value in (CODE, "1e9", "9" * 5000, "\u0000", 7):
    _setting("separate", _value)
for _value in (float("nan"), -1.0, 2.0, "0.1", None):
    _setting("dropout", _value)
for _value in ("nothing", CODE, "../linear", 7, None):
    _setting("lm_head", _value)
for _value in ("tanh", CODE, 7, None):
    _setting("activation_fn", _value)
for _value in (-1, 10**10, "2", None):
    _setting("num_segments", _value)
for _value in (0.0, -1.0, float("nan"), "1e-5"):
    _setting("norm_eps", _value)


def _evaluated(label: str) -> dict[str, Any]:
    """Options that architectures of fairseq's pass to ``eval``."""
    names = (
        *("pretrained", "encoder_layers", "decoder_layers", "encoder_attention", "convolutions"),
        *("decoder_attention", "self_attention", "project_input", "gated_attention", "downsample"),
        *("character_filters", "adam_betas", "attention_type", "encoder_kernel_size_list"),
    )
    plain = {
        "share_decoder_input_output_embed": False,
        "share_all_embeddings": False,
        "encoder_embed_dim": 8,
        "decoder_embed_dim": 8,
        "decoder_out_embed_dim": 8,
        "dropout": 0.0,
        "encoder_embed_path": None,
        "decoder_embed_path": None,
        "max_source_positions": 16,
        "max_target_positions": 16,
        "character_embeddings": True,
        "tokens_per_sample": 16,
    }
    return plain | dict.fromkeys(names, CODE)


# fairseq's architectures whose options are code, and some that read files that are named in theirs.
_ARCHITECTURES = (
    *("fconv_self_att", "fconv_self_att_wp", "fconv", "fconv_iwslt_de_en", "fconv_lm"),
    *("lightconv", "lightconv_lm", "transformer_lm", "transformer", "lstm", "roberta", "hubert"),
    *("wav2vec2", "multilingual_transformer", "dummy_model", "hf_gpt2", "masked_lm", "bart_base"),
)


def _foreign(state: State, arch: Any, where: str) -> None:
    def change(config: dict[str, Any]) -> None:
        config.update(_evaluated(where), _name=arch, arch=arch)

    if where == "encoder":
        _settings(state, change)
    else:
        change(state["cfg"]["model"])


for _arch in _ARCHITECTURES:
    _state(
        f"the architecture is fairseq's {_arch}",
        lambda state, arch=_arch: _foreign(state, arch, "model"),
    )
    _state(
        f"the encoder's architecture is fairseq's {_arch}",
        lambda state, arch=_arch: _foreign(state, arch, "encoder"),
    )


def _through_task(state: State, task: str) -> None:
    _foreign(state, "fconv_self_att", "model")
    state["cfg"]["task"] = {**state["cfg"]["task"], "_name": task}


for _task in ("cross_lingual_transfer", "clcr", "cdlm", "bilingual_mlm", "translation"):
    _state(
        f"an architecture that evaluates, through the task {_task}",
        lambda state, task=_task: _through_task(state, task),
    )
for _value in ("nothing", CODE, "os.path", "../up", 7, None, ["lm"], "x" * 100_000):
    _shown = repr(_value)[:30]
    _state(f"the architecture is {_shown}", lambda s, v=_value: s["cfg"]["model"].update(_name=v))
    _state(f"the task is {_shown}", lambda s, v=_value: s["cfg"]["task"].update(_name=v))
for _task in ("hubert_pretraining", "translation", "dummy_lm", "sentence_prediction", "masked_lm"):
    _state(
        f"the task is fairseq's {_task}",
        lambda s, v=_task: s["cfg"]["task"].update(_name=v),
        either="it is served, and an encoder is read without its task"
        if _task == "translation"
        else "",
    )
for _name in ("model", "task"):
    for _value in (None, [], "text", 7, {}):
        _state(
            f"the settings of the {_name} are {_value!r}",
            lambda s, n=_name, v=_value: s["cfg"].update({n: v}),
        )
for _value in (7, ["en"], "en,en", "../en", "x" * 100_000, "${oc.env:HOME}", "fr,it"):
    _state(
        f"the task's languages are {repr(_value)[:30]}",
        lambda s, v=_value: s["cfg"]["task"].update(languages=v),
        either="the data folder that is given says which languages there are",
    )


def _foreign_code(state: State) -> None:
    """A folder of code, which fairseq's own programs import where it is named to them."""
    state["cfg"]["common"]["user_dir"] = "evil"


_UNUSED = "nothing reads it from a checkpoint"
_state("the settings name a user's folder of code", _foreign_code, either=_UNUSED)
for _group, _name in (
    *(("optimizer", "adam_betas"), ("checkpoint", "optimizer_overrides")),
    *(("common_eval", "model_overrides"), ("criterion", "wer_args"), ("bpe", "_name")),
    *(("tokenizer", "_name"), ("scoring", "_name"), ("lr_scheduler", "_name")),
    *(("criterion", "_name"), ("optimizer", "_name")),
):
    _state(
        f"{_group}.{_name} is code",
        lambda s, g=_group, n=_name: s["cfg"].update({g: {**(s["cfg"].get(g) or {}), n: CODE}}),
        either=_UNUSED,
    )
_state(
    "settings that stand for others",
    lambda s: s["cfg"]["model"].update(dropout="${common.seed}"),
)
_state("settings that stand for themselves", lambda s: s["cfg"]["task"].update(data="${task.data}"))


def _inner_json(name: str, text: str) -> None:
    """The JSON inside of settings; of a checkpoint that has none, its text instead of settings."""

    def apply(state: State) -> None:
        model = state["cfg"]["model"]
        for key in ("clcr_config", "encoder_config"):
            if key in model:
                model[key] = text
                return
        state["cfg"]["model"] = text

    _state(f"inner settings {name}", apply)


_inner_json("are no JSON", "{")
_inner_json("are nested 100,000 deep", "[" * 100_000 + "]" * 100_000)
_inner_json("have a number of 5,000 digits", '{"_name": 1' + "0" * 5000 + "}")
_inner_json("are a list", "[1]")
_inner_json("are null", "null")
_inner_json("are an empty object", "{}")

for _kind in list(KINDS)[_FIRST_SETTING:]:
    KINDS[_kind] = dataclasses.replace(KINDS[_kind], setting=True)

# ---- what a resumed training reads


def _resumed(name: str, change: Callable[[State], Any], **more: Any) -> None:
    _state(f"resumed: {name}", change, resumed=True, **more)


for _name in ("last_optimizer_state", "extra_state", "optimizer_history"):
    for _value in (None, [], "text", 7, {}, {"state": 1}, [None], [{}]):
        _resumed(
            f"{_name} is {_value!r}",
            lambda s, n=_name, v=_value: s.update({n: v}),
            either="as --no-save-optimizer-state leaves it"
            if (_name, _value) == ("last_optimizer_state", None)
            else "",
        )
for _value in (-1, "1", 2.5, None, 10**30, [1], float("nan")):
    _resumed(
        f"num_updates is {_value!r}",
        lambda s, v=_value: s["optimizer_history"][-1].update(num_updates=v),
    )
for _value in (None, [], "text", 7, {}, {"version": 99}, {"epoch": -1}, {"epoch": "x"}):
    _resumed(
        f"train_iterator is {_value!r}",
        lambda s, v=_value: s["extra_state"].update(train_iterator=v),
    )
for _key, _value in (
    *(
        ("epoch", -5),
        ("epoch", 10**9),
        ("iterations_in_epoch", -1),
        ("iterations_in_epoch", 10**12),
    ),
    *(("cursors", None), ("cursors", [{}]), ("cursors", "x"), ("groups", -1)),
):
    _resumed(
        f"train_iterator's {_key} is {_value!r}",
        lambda s, k=_key, v=_value: s["extra_state"]["train_iterator"].update({k: v}),
        either="epochs are only counted" if (_key, _value) == ("epoch", 10**9) else "",
    )
for _value in (None, [], "text", 7, {"labels": None}):
    _resumed(
        f"task_state is {_value!r}",
        lambda s, v=_value: s.update(task_state=v),
        either="" if _value is not None else "as fairseq left it before 2021",
    )
_resumed(
    "task_state has a name that no task knows",
    lambda s: s.update(task_state={"x": 1}),
    either="nothing asks for it",
)
for _value in ("text", 7, None, [1], {"default": [(1, "x", "eval", {})]}, {"default": 3}):
    _resumed(
        f"metrics is {_value!r}",
        lambda s, v=_value: s["extra_state"].update(metrics=v),
        either="fairseq starts the averages that it prints anew",
    )
_resumed(
    "the optimiser's state is NaN",
    lambda s: (
        [
            x.fill_(float("nan"))
            for entry in s["last_optimizer_state"]["state"].values()
            for x in entry.values()
            if torch.is_tensor(x) and x.is_floating_point()
        ]
        and None
    ),
)
_resumed(
    "the optimiser's state has other shapes",
    lambda s: (
        [
            entry.update(exp_avg=torch.zeros(3))
            for entry in s["last_optimizer_state"]["state"].values()
        ]
        and None
    ),
)
_resumed(
    "the optimiser's state is text",
    lambda s: s["last_optimizer_state"].update(state={0: CODE}),
)
_resumed(
    "the learning rate is text",
    lambda s: s["optimizer_history"][-1].update(lr_scheduler_state={"lr": CODE}),
)
_resumed(
    "another optimiser",
    lambda s: s["optimizer_history"][-1].update(optimizer_name=CODE),
)
_resumed("another criterion", lambda s: s["optimizer_history"][-1].update(criterion_name=CODE))

# ---- cases

_RESUMES = "fairseq-train --restore-file"
_PLANNED = "--dry-run"
# Of these, only weights and identity count: their kinds and types are checked, not their sizes.
_SETTINGS_NOT_READ = {
    **dict.fromkeys(
        (_RESUMES, "fairseq-train --finetune-from-model", "fairseq-train cdlm"),
        "the options of the command line hold",
    ),
    "combine": "settings are copied, and checked where a model is built from them",
}


def _not_opened(call: str, name: str) -> str:
    if name == "parse" and call in ("struct train", "struct matrix"):
        return "every sentence has a tree, so nothing is parsed"
    return ""


def _not_read(call: str, name: str) -> str:
    """Why a model's settings do no harm in a call, if they do none."""
    if name in ("names", "lstm"):  # whose settings have other names; those of the call hold
        return "a BiLSTM has no encoder of ours"
    return _SETTINGS_NOT_READ.get(call, "")


@functools.cache
def own_folder(parent: Path) -> Path:
    """A folder below ``parent`` for hostile files, of this process alone: runs may share one."""
    return Path(tempfile.mkdtemp(prefix="hostile-checkpoints-", dir=parent))


@functools.cache
def _made(kind: str, valid: Path) -> Path:
    """The hostile file of a kind, made once for all calls."""
    folder = own_folder(valid.parent.parent)
    target = folder / f"{valid.stem}-{len(list(folder.iterdir()))}.pt"
    KINDS[kind].write(valid, target)
    return target


def _place(kind: str, name: str, world: World, here: Path) -> None:
    made, target = _made(kind, world.root / f"{name}.pt"), here / HOSTILE
    if made.is_dir():
        target.mkdir()
    else:
        os.link(made, target)
    if kind == "the settings name a user's folder of code":
        (here / "evil").mkdir()
        (here / "evil" / "__init__.py").write_text(CODE)


def every_case() -> Iterator[Case]:
    """Every kind through every call, at each place where it reads a checkpoint: ten thousand."""
    for call, text in calls().items():
        for number, name in checkpoint_places(text):
            words = text.split()
            words[number] = words[number].replace(f"{{w}}/{name}.pt", f"{{h}}/{HOSTILE}", 1)
            option = [word for word in words[:number][-1:] if word.startswith("--")]
            place = " ".join([*option, f"{words[number].split('{h}')[0]}{name}"])
            planned = words[-1] == _PLANNED
            for kind, about in KINDS.items():
                if about.resumed and call != _RESUMES:
                    continue
                either = (
                    about.either
                    or _not_opened(call, name)
                    or (_not_read(call, name) if about.setting else "")
                )
                accepted = about.accepted
                if accepted and call.startswith("combine"):
                    accepted, either = "", "both halves must be of one precision"
                # Not all plans read the checkpoints: carried out, a run reads them at its first
                # steps. One that they do not end would go on for long, so it is only planned.
                carried_out = planned and not (either or accepted)
                yield Case(
                    f"checkpoint: {kind}: {call} {place}",
                    " ".join(words[:-1] if carried_out else words),
                    functools.partial(_place, kind, name),
                    accepted=accepted,
                    either=either,
                    # Where the file does no harm, the run goes on to where so few steps lead.
                    names=("no sentence has two pivots",) if carried_out else (),
                )


# One of each way in which a file can be hostile.
CORE_KINDS = (
    *("empty", "half a file", "damaged pickle", "a folder", "code: os.system, zip"),
    *("code: eval, pickle", "code: in the settings", "a list", "no cfg", "model is []"),
    *("a weight of NaN", "a weight of integers", "a weight that is text", "a weight transposed"),
    *("identity is no JSON", "encoder_layers is 1000000000", "encoder_layers is -1"),
    "the architecture is fairseq's fconv_self_att",
    "the encoder's architecture is fairseq's fconv_self_att",
    "an architecture that evaluates, through the task cross_lingual_transfer",
    *("the task is 'nothing'", "inner settings are no JSON"),
)
_EACH = 5  # calls that a kind of the others is tried through


def _kind(case: Case) -> str:
    return case.name.split(": ", 1)[1].rsplit(": ", 1)[0]


def cases() -> list[Case]:
    """`CORE_KINDS` through every call, and each of the others through some, in turn."""
    chosen: list[Case] = []
    by_kind: dict[str, list[Case]] = {}
    for case in every_case():
        by_kind.setdefault(_kind(case), []).append(case)
    for number, (kind, found) in enumerate(by_kind.items()):
        step = 1 if kind in CORE_KINDS else max(1, len(found) // _EACH)
        chosen += found[number % step :: step]
    return chosen
