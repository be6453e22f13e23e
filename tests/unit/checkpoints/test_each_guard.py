"""Each guard alone: its case does no harm, and the same case does where the guard is switched off.

Where two guards are in the way of one file, one of them can be lost and nothing is seen. So every
case here gets past all guards but its own. The page on security lists the guards by these names.
"""

import builtins
import dataclasses
import json
import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jinja2
import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import save_file
from torch import nn

from fairseq_xling import checkpoints, trained
from fairseq_xling.checkpoints import budget, files, layout, no_larger_than, served
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.core import array_file
from fairseq_xling.core.errors import UserError
from fairseq_xling.data import folder as data_folder
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import write_items
from fairseq_xling.engine import reading
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.interop.sources import folder as weights_folder
from fairseq_xling.models import identity
from fairseq_xling.reports.page import write_page
from fairseq_xling.reports.record import Record, Section
from fairseq_xling.trained import load_trained
from fairseq_xling.workflow import forking, options
from tests.hostile.checkpoints import Runs

REFUSED = (UserError, SystemExit)
LARGE = 300_000  # rows of a table of 16 columns, above what a small file may ask for
Off = Callable[[pytest.MonkeyPatch], None]
Case = Callable[["Tools"], Any]


class Tools(NamedTuple):
    """What a case is made from; ``marker`` is made where code runs."""

    folder: Path
    changed: Callable[..., Path]
    peer: Callable[..., Path]
    loaded: Callable[..., tuple]
    corpus: Callable[..., Any]
    state: dict[str, Any]
    marker: Path

    def saved(self, value: Any) -> Path:
        """A file of torch's with ``value``."""
        torch.save(value, self.folder / "saved.pt")
        return self.folder / "saved.pt"


@pytest.fixture
def tools(tmp_path, changed, peer, loaded, make_corpus, whole_state, marker) -> Tools:
    prepare_engine()
    return Tools(tmp_path, changed, peer, loaded, make_corpus, whole_state, marker.path)


class Guard(NamedTuple):
    """``off`` switches it off; ``case`` returns something true where that was of harm."""

    off: Off
    case: Case


GUARDS: dict[str, Guard] = {}


def guard(name: str, *off: Off) -> Callable[[Case], Case]:
    """Enter a case of the guard ``name``."""

    def register(case: Case) -> Case:
        assert name not in GUARDS

        def all_off(patch: pytest.MonkeyPatch) -> None:
            for one in off:
                one(patch)

        GUARDS[name] = Guard(all_off, case)
        return case

    return register


def put(owner: Any, name: str, value: Any = lambda *args, **kwargs: None) -> Off:
    """``owner.name`` replaced, by default with a function that does nothing."""
    return lambda patch: patch.setattr(owner, name, value)


def harmed(case: Case, tools: Tools) -> bool:
    """Whether a case is of harm, be it accepted or run before it is refused."""
    try:
        return bool(case(tools)) or tools.marker.exists()
    except REFUSED:
        return tools.marker.exists()
    except Exception:  # of what follows where code has run
        if tools.marker.exists():
            return True
        raise


# ---- what torch unpickles


_load = torch.load
_any_pickle = put(torch, "load", lambda file, **k: _load(file, **{**k, "weights_only": False}))


def _rewritten(path: Path, compression: int, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a file of torch's, its records changed and with the checksums that they have."""
    copy = path.with_name("copy.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w", compression) as new:
        for record in old.infolist():
            new.writestr(record.filename, change(old.read(record)))
    return copy


def _packed(path: Path) -> Path:
    return _rewritten(path, zipfile.ZIP_DEFLATED, bytes)


def _writing(tools: Tools) -> Runs:
    return Runs(torch.save, 1, str(tools.marker))


guard("weights_only, our reader", _any_pickle, put(files, "check_archive"))(
    lambda tools: load_plain(tools.saved({"model": {}, "more": _writing(tools)}))
)


guard("weights_only, fairseq's reader", _any_pickle, put(checkpoints, "check_archive"))(
    lambda tools: tools.loaded(tools.changed({"more": _writing(tools)}))
)


guard("weights_only, an encoder's weights", _any_pickle, put(weights_folder, "check_archive"))(
    lambda tools: weights_folder._plain(tools.saved({"a": _writing(tools)}))
)


guard("check_archive, our reader: functions", put(files, "check_archive"))(
    lambda tools: (
        len(load_plain(tools.saved({"model": {}, "more": Runs(bytearray, 999)}))["more"]) == 999
    )
)


guard("check_archive, fairseq's reader: functions", put(checkpoints, "check_archive"))(
    lambda tools: tools.loaded(tools.changed({"more": Runs(bytearray, 999)}))
)


guard("check_archive, our reader: compression", put(files, "check_archive"))(
    lambda tools: load_plain(_packed(tools.saved({"model": {"a": torch.zeros(10**5)}})))
)


guard("check_archive, an encoder's weights: compression", put(weights_folder, "check_archive"))(
    lambda tools: weights_folder._plain(_packed(tools.saved({"a": torch.zeros(10**5)})))
)


@guard("check_archive, our reader: checksums", put(files, "check_archive"))
def _(tools: Tools) -> bool:
    weight = torch.rand(100)
    path = tools.saved({"model": {"a": weight}})
    data = path.read_bytes()
    path.write_bytes(data.replace(weight.numpy().tobytes(), (-weight).numpy().tobytes()))
    return torch.equal(load_plain(path)["model"]["a"], -weight)


# ---- what a checkpoint contains


guard("check_layout, our reader", put(files, "check_layout"))(
    lambda tools: load_plain(tools.saved({"model": {}, "task_state": {"labels": {"label": [1]}}}))
)


@guard("check_layout, fairseq's reader", put(checkpoints, "check_layout"))
def _(tools: Tools) -> Any:
    metrics = {"default": [(1, "x", "__builtins__", {})]}  # looked up among the names of a module
    return tools.loaded(tools.changed({"extra_state.metrics": metrics}))


@guard("check_plain: references", put(layout, "check_plain"))
def _(tools: Tools) -> bool:
    path = tools.changed({"cfg.common": {"wandb_project": "${oc.env:PATH}"}})
    return tools.loaded(path)[1].common.wandb_project == os.environ["PATH"]


@guard("check_plain: values", put(layout, "check_plain"))
def _(tools: Tools) -> Any:
    value: Any = "x"
    for _ in range(6):
        value = [value] * 10
    return load_plain(tools.saved({"model": {}, "cfg": {"common": value}}))


def _not_finite(tools: Tools) -> Path:
    name = next(name for name in tools.state["model"] if name.endswith(".weight"))
    return tools.changed({f"model/{name}": tools.state["model"][name] * float("nan")})


guard("check_tensors, our reader", put(files, "check_tensors"))(
    lambda tools: load_plain(_not_finite(tools))
)


guard("check_tensors, fairseq's reader", put(checkpoints, "check_tensors"))(
    lambda tools: tools.loaded(_not_finite(tools))
)


guard("check_tensors, an encoder's weights", put(weights_folder, "check_tensors"))(
    lambda tools: weights_folder._plain(tools.saved({"a": torch.full((2,), float("nan"))}))
)


@guard("check_tensors, an encoder's safetensors", put(weights_folder, "check_tensors"))
def _(tools: Tools) -> Any:
    save_file({"a": torch.full((2,), float("nan"))}, tools.folder / "x.safetensors")
    return weights_folder._safetensors(tools.folder / "x.safetensors")


@guard("check_kinds", put(identity, "check_kinds"))
def _(tools: Tools) -> Any:
    from fairseq.models import BaseFairseqModel

    class Counting(identity.Identified, BaseFairseqModel):
        identity = {"languages": ["en"]}

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))

    model = Counting()
    return model.load_state_dict({**model.state_dict(), "updates": torch.tensor(3.5)})


@guard("check_optimizer", put(checkpoints, "check_optimizer"))
def _(tools: Tools) -> Any:
    from fairseq import checkpoint_utils

    moments = {"state": {0: {"exp_avg": torch.tensor([float("nan")])}}, "param_groups": []}
    path = tools.changed({"last_optimizer_state": moments})
    restore = reading.one_line_restore(
        lambda trainer, name: checkpoint_utils.load_checkpoint_to_cpu(name)
    )
    return restore(SimpleNamespace(_optimizer=None), str(path))


@guard("check_restored", put(checkpoints, "check_restored"))
def _(tools: Tools) -> Any:
    weight = nn.Parameter(torch.ones(3, 2))
    inner = SimpleNamespace(state={weight: {"exp_avg": torch.ones(2, 3)}})
    trainer = SimpleNamespace(_optimizer=1, optimizer=SimpleNamespace(optimizer=inner))
    return reading.one_line_restore(lambda trainer, name: {"a": 1})(trainer, "x.pt")


def _original_torch(patch: pytest.MonkeyPatch) -> None:
    from fairseq import checkpoint_utils

    patch.setattr(checkpoint_utils, "torch", torch)


guard("fairseq's reader", _original_torch)(lambda tools: tools.loaded(_not_finite(tools)))


# ---- what a checkpoint has built

ANY = served.Kind("anything", lambda value: True)


guard("check_served, our reader", put(trained, "check_served"))(
    lambda tools: load_trained(tools.changed({"cfg.task._name": "masked_lm"}))
)


@guard("check_served, fairseq's reader", put(checkpoints, "check_served"))
def _(tools: Tools) -> bool:
    """A class that needs no code of its options, which other guards would see."""
    (model,), _, _ = tools.loaded(tools.peer(_name="transformer_align", arch=None))
    return type(model).__name__ == "TransformerAlignModel"


@guard("check_served: options of an older fairseq", put(checkpoints, "check_served"))
def _(tools: Tools) -> bool:
    state = torch.load(tools.peer(), weights_only=True)
    settings = vars(state["cfg"]["model"]) | {"task": "translation", "optimizer": "adam"}
    settings |= state["cfg"]["task"] | {"_name": None, "lr": [0.1]}
    args = Namespace(**{**settings, "arch": "transformer_align", "criterion": "cross_entropy"})
    (model,), _, _ = tools.loaded(tools.changed({"args": args, "model": state["model"]}))
    return type(model).__name__ == "TransformerAlignModel"


def _any_architecture(patch: pytest.MonkeyPatch) -> None:
    from fairseq.models import MODEL_REGISTRY

    from fairseq_xling.models import transfer_encoder

    def name(settings: Any, place: str) -> Any:
        return MODEL_REGISTRY[settings["_name"]]

    patch.setattr(transfer_encoder, "check_architecture", name)


@guard("check_architecture", _any_architecture)
def _(tools: Tools) -> Any:
    from fairseq.models import MODEL_REGISTRY

    from fairseq_xling.models.transfer_encoder import build_encoder

    class Foreign:
        @staticmethod
        def build_model(cfg: Any, task: Any) -> Any:
            return SimpleNamespace(encoder="built")

    Foreign.__module__ = "fairseq.models.foreign"
    task = Namespace(vocab_sizes={}, dictionary_digests={})
    MODEL_REGISTRY["foreign"] = Foreign
    try:
        return build_encoder({"_name": "foreign"}, task)
    finally:
        del MODEL_REGISTRY["foreign"]


guard("declared types", put(served, "fits", lambda value, kind: True))(
    lambda tools: load_trained(tools.changed({"cfg.model.dropout": "0.1"}))
)


@guard("plain names", put(served, "PLAIN", ANY))
def _(tools: Tools) -> bool:
    path, inside = tools.peer(task={"source_lang": "x/en"}), tools.folder / "peer" / "dict.x"
    inside.mkdir()
    shutil.copy(tools.folder / "peer" / "dict.en.txt", inside / "en.txt")
    return tools.loaded(path)[2].cfg.source_lang == "x/en"


def _allowed(part: str, owner: str, option: str) -> Off:
    return lambda patch: patch.setitem(served.SERVED[part][owner].allowed, option, ANY)


@guard("paths", _allowed("task", "translation", "data"))
def _(tools: Tools) -> bool:
    path, odd = tools.peer(task={"data": str(tools.folder / "a;b")}), tools.folder / "a;b"
    shutil.copytree(tools.folder / "peer", odd)
    return tools.loaded(path)[2].cfg.data == str(odd)


guard("formats of data", _allowed("task", "translation", "dataset_impl"))(
    lambda tools: (
        str(tools.loaded(tools.peer(task={"dataset_impl": "fasta"}))[2].cfg.dataset_impl)
        == ("fasta")
    )
)


@guard("unset options", _allowed("model", "transformer", "encoder_xformers_att_config"))
def _(tools: Tools) -> bool:
    try:
        tools.loaded(tools.peer(encoder_xformers_att_config="{}"))
    except ImportError:  # of what it is meant for, which is not installed
        return True
    return False


def _without_left(part: str, owner: str) -> Off:
    entry = served.SERVED[part][owner]
    free = dataclasses.replace(
        entry, left=(), allowed={**entry.allowed, **dict.fromkeys(entry.left, ANY)}
    )
    return lambda patch: patch.setitem(served.SERVED[part], owner, free)


@guard("options for training, of a model", _without_left("model", "transformer"))
def _(tools: Tools) -> None:
    """The file would be read."""
    from fairseq import utils

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "parse_embedding", lambda path: tools.marker.touch() or {})
        tools.loaded(tools.peer(encoder_embed_path="vectors.txt"))


@guard("options for training, of a task", _without_left("task", "translation"))
def _(tools: Tools) -> bool:
    task = tools.loaded(tools.peer(task={"eval_bleu": True, "eval_bleu_detok": "space"}))[2]
    return hasattr(task, "sequence_generator")


@guard("Budget.count", put(budget.Budget, "count"))
def _(tools: Tools) -> Any:
    with no_larger_than({}, "x.pt"):
        return nn.Embedding(LARGE, 16)


guard("Budget.check_layers", put(budget.Budget, "check_layers"))(
    lambda tools: load_trained(tools.changed({"cfg.model.encoder_layers": 10**9}))
)


@guard("Budget.allow, fairseq's reader", put(budget.Budget, "allow"))
def _(tools: Tools) -> bool:
    filled: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        fill = nn.init.normal_
        patch.setattr(nn.init, "normal_", lambda x, *a, **k: filled.append(x.numel()) or fill(x))
        try:
            tools.loaded(tools.changed({"cfg.model.max_positions": LARGE}))
        except REFUSED:
            return any(size > LARGE for size in filled)
    return True


# ---- what fairseq would do with a text or a file


def _python(patch: pytest.MonkeyPatch) -> None:
    from fairseq import utils

    patch.setitem(vars(utils), "eval", builtins.eval)


@guard("eval", _python)
def _(tools: Tools) -> None:
    from fairseq import utils

    utils.eval_str_dict(f"__import__('pathlib').Path({str(tools.marker)!r}).touch()")


@guard("no shell", put(reading, "refuse_proteins"))
def _(tools: Tools) -> None:
    """fairseq takes the languages out of names of files where none are given."""
    folder, name = tools.folder / "data", f"x;touch {tools.marker.name};"
    folder.mkdir()
    for lang in (name, "de"):
        (folder / f"dict.{lang}.txt").write_text("a 1\nb 1\n")
        stem = folder / f"valid.{name}-de.{lang}"
        write_items(stem, [np.array([4, 2])], np.dtype("<u2"))
        Path(f"{stem}.fasta").write_text(">x\na\n")
    (folder / f"valid.{name}-de.de.idx").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tools.folder)
        task = {"data": "data", "source_lang": None, "target_lang": None}
        tools.loaded(tools.peer(task=task))[2].load_dataset("valid")


def _untrained(patch: pytest.MonkeyPatch) -> None:
    from fairseq_xling.training.cross_lingual_transfer import CrossLingualTransferTask as Task

    patch.setattr(Task, "trained", property(lambda self: False, lambda self, value: None), False)


@guard("no file for what a checkpoint lacks", _untrained)
def _(tools: Tools) -> None:
    from fairseq_xling.training.cross_lingual_transfer import CrossLingualTransferTask as Task

    data = tools.state["cfg"]["task"]["data"]
    task = {"_name": "cross_lingual_transfer", "data": data, "train_file": "en=rows.tsv"}
    encoder = json.dumps(tools.state["cfg"]["model"])
    model = {"_name": "cross_lingual_transfer", "encoder_config": encoder}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "read", lambda self, lang, path: tools.marker.touch() or [])
        tools.loaded(tools.changed({"cfg.task": task, "cfg.model": model}))


def _no_inner(patch: pytest.MonkeyPatch) -> None:
    from fairseq_xling.papers.clcr import task as clcr
    from fairseq_xling.training import cross_lingual_transfer

    for module in (clcr, cross_lingual_transfer):
        put(module, "check_complete")(patch)


@guard("no encoder for one that a checkpoint lacks", _no_inner)
def _(tools: Tools) -> None:
    from fairseq_xling.training import cross_lingual_transfer as training

    data = tools.state["cfg"]["task"]["data"]
    task = {"_name": "cross_lingual_transfer", "data": data}
    model = {"_name": "cross_lingual_transfer", "encoder_config": "", "encoder": "another.pt"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "read_encoder", lambda *args: tools.marker.touch())
        tools.loaded(tools.changed({"cfg.task": task, "cfg.model": model}))


@guard("no encoders for those that CLCR lacks", _no_inner)
def _(tools: Tools) -> None:
    from fairseq_xling.papers.clcr import task as clcr

    data = tools.state["cfg"]["task"]["data"]
    model = {"_name": "clcr", "clcr_config": "", "encoder": "en=another.pt"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clcr, "gather", lambda *args: tools.marker.touch())
        task = {"_name": "clcr", "data": data}
        tools.loaded(tools.changed({"cfg.task": task, "cfg.model": model}))


# ---- other files


_numpy_load = np.load


@guard(
    "allow_pickle=False",
    put(np, "load", lambda file, **k: _numpy_load(file, **{**k, "allow_pickle": True})),
)
def _(tools: Tools) -> None:
    """An array of objects is refused where it is mapped, too; a bare pickle is not."""
    path = tools.folder / "x.npy"
    path.write_bytes(pickle.dumps(Runs(Path.touch, tools.marker)))
    array_file.mapped(path, "f", (None,), "write it again")


def _settings(tools: Tools, text: str) -> dict[str, Any]:
    (tools.folder / "run.yaml").write_text(text)
    return options.read_yaml(str(tools.folder / "run.yaml"), ["train_args"])


guard("safe YAML", put(options, "_Texts", yaml.UnsafeLoader))(
    lambda tools: _settings(
        tools, f"train_args: !!python/object/apply:os.mkdir ['{tools.marker}']\n"
    )
)


guard("no --user-dir in YAML", put(options, "_REFUSED", re.compile("(?!)")))(
    lambda tools: _settings(tools, "train_args: --user-dir evil\n")
)


_environment = jinja2.Environment


@guard(
    "escaped reports",
    put(jinja2, "Environment", lambda **k: _environment(**{**k, "autoescape": False})),
)
def _(tools: Tools) -> bool:
    bad = "<script>alert(1)</script>"
    record = Record("A run", [{"row": bad, "value": 1}], [Section(bad, text=bad)], lead=[bad])
    write_page(tools.folder / "report.html", record)
    return bad in (tools.folder / "report.html").read_text()


@guard("digests of data", put(data_folder, "check_file"))
def _(tools: Tools) -> Any:
    path = tools.corpus(digests=True).path / "mono" / "train.en.bin"
    path.write_bytes(bytes(len(path.read_bytes())))
    return DataFolder(path.parent.parent).file("mono/train.en.bin")


def _open_folder(**options: Any) -> str:
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    return folder


@guard("socket of the fork server", put(forking, "tempfile", SimpleNamespace(mkdtemp=_open_folder)))
def _(tools: Tools) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        server = SimpleNamespace(kill=lambda: None, wait=lambda: None)
        patch.setattr(subprocess, "Popen", lambda *args, **kwargs: server)
        patch.setattr(sys, "platform", "linux")
        with forking.fork_server({}) as env:
            mode = Path(env[forking.VARIABLE]).parent.stat().st_mode
    return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


@pytest.mark.parametrize("name", GUARDS)
def test_a_case_does_harm_only_where_its_guard_is_off(name, tools, monkeypatch):
    assert not harmed(GUARDS[name].case, tools), f"{name}: the case does harm"


@pytest.mark.parametrize("name", GUARDS)
def test_without_its_guard_a_case_does_harm(name, tools, monkeypatch):
    GUARDS[name].off(monkeypatch)
    assert harmed(GUARDS[name].case, tools), f"{name}: something else is in the way of the case"
