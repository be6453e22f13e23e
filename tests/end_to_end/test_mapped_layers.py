"""The study of maps below a task head, through the real command (SPEC S6)."""

import shutil

import pytest
import torch

from fairseq_xling.cli import main
from tests.end_to_end.engine import in_process, load, run, small_model
from tests.end_to_end.test_map import WIDTH, permuted
from tests.records import rows

pytestmark = pytest.mark.slow
TASK = "--tasks pos --head-layers 1 --task-args".split()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Text of one language under two names, an encoder, and one equal up to a rotation."""
    root = tmp_path_factory.mktemp("mapped-layers")
    text = root / "text"
    sizes = "--sentences 150 --parallel-sentences 150 --held-out 60 --annotated 80".split()
    run("fairseq-xling", "synthesize", str(text), *sizes)
    for path in sorted(text.rglob("*.en.*")):
        shutil.copy(path, path.with_name(path.name.replace(".en.", ".de.")))
    for path in text.rglob("*.pharaoh"):
        path.unlink()  # these link English to German
    run(
        *("fairseq-xling", "prepare", str(root / "data"), "--from", str(text)),
        *"--languages en,de --vocab-type word --vocab-size 800 --aligner none".split(),
    )
    in_process("train", *small_model(root / "data", root / "model"))
    state = load(root / "model" / "checkpoint_last.pt")
    order = torch.randperm(WIDTH, generator=torch.Generator().manual_seed(1))
    state["model"] = {name: permuted(name, x, order) for name, x in state["model"].items()}
    torch.save(state, root / "permuted.pt")
    return root


def test_encoders_equal_up_to_a_rotation_lose_nothing_with_the_map_and_all_without(root, capsys):
    encoders = {"en": root / "model" / "checkpoint_last.pt", "de": root / "permuted.pt"}
    ready = [
        word
        for lang, path in encoders.items()
        for word in ("--encoder", f"{lang}={path}", "--data", f"{lang}={root / 'data'}")
    ]
    command = [
        *("ablate", "mapped-layers", "--data-text", str(root / "text"), *ready, *TASK),
        *("--epochs 8 --batch-sizes 8 --lrs 2e-2", "--rows", "mapped,unmapped"),
        *("--read-layers", "1-2", "--output", str(root / "run")),
    ]
    assert main(command) == 0
    printed = capsys.readouterr().out
    found = {(row["row"], row["layer"]): row["value"] for row in rows(root / "run")}
    assert len(found) == 6
    for layer in (1, 2):
        own = found["en itself, monolingual", layer]
        assert found["mapped", layer] == pytest.approx(own, abs=1.0)
        assert own > found["unmapped", layer] + 20
    assert "| POS | en-de | monolingual, mapped |" in printed
    assert main(command) == 0  # all is done
    assert capsys.readouterr().out.count("skipped") == printed.count("done in")
    pages = root / "pages"
    assert main(["report", str(root / "run"), "--output", str(pages)]) == 0
    assert "through a map" in next(pages.glob("run*.html")).read_text(encoding="utf-8")


def test_encoders_are_trained_where_none_is_ready(root, capsys):
    command = [
        *("ablate", "mapped-layers", "--data-text", str(root / "text"), *TASK, "--epochs 1"),
        *("--rows", "mapped,bilingual-mapped", "--layers", "1", "--updates", "2", "--every", "1"),
        *("--read-layers", "1", "--vocab-type", "word", "--output", str(root / "trained")),
    ]
    assert main(command) == 0
    assert "train-union-en-de-1: done in" in capsys.readouterr().out
    table = (root / "trained" / "table.md").read_text(encoding="utf-8")
    assert "| bilingual, mapped |" in table
    assert "| monolingual, mapped |" in table  # two data folders, of a language each
