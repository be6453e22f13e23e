"""A user's mistake ends fairseq-train with one clear line, before anything is trained."""

import sys

import pytest
import torch

from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.mmap import write_items
from tests.end_to_end import engine
from tests.end_to_end.engine import command, launch, run, training_options

OPTIONS = [
    ("--separate 1-9", r"`--separate` layers must lie in 1-2 \(the encoder's depth\), got '1-9'"),
    ("--objectives tlm --separate 1", r"objective 'tlm' puts two languages into one input"),
    ("--objectives mlmm", r"unknown objective 'mlmm'; did you mean 'mlm'\?"),
    (
        "--objective-shares mlm=0",
        r"`--objective-shares` must give at least one objective more",
    ),
    ("--languages en,fr", r"unknown language 'fr'; known: en, de"),
    ("--mask-prob 1.2", r"`--mask-prob` must lie in \[0, 1\], got 1.2"),
    ("--leave-unmasked 0.6 --random-token 0.6", r"must not exceed 1, got 1.2"),
    ("--sample-break-mode eos", r"unknown `--sample-break-mode` 'eos'; known: none, sentence"),
    ("--tokens-per-sample 500", r"`--tokens-per-sample` must not exceed .* 128, got 500"),
    ("--encoder-attention-heads 3", r"must be a multiple of `--encoder-attention-heads`"),
    ("--lm-head brt", r"unknown LM head 'brt'; did you mean 'bert'\?"),
    ("--restore-file nowhere.pt", r"`--restore-file` nowhere.pt: no such checkpoint"),
    ("--finetune-from-model nowhere.pt", r"`--finetune-from-model` nowhere.pt: no such file"),
    ("--objectives mlm,mlm", r"`--objectives` names 'mlm' twice, got 'mlm,mlm'"),
    ("--encoder-layers 0", r"`--encoder-layers` must be at least 1, got 0"),
    ("--max-positions 2", r"`--max-positions` must be at least 3, got 2"),
    ("--fp16", "`--fp16` needs an accelerator; with `--cpu` take --cpu-bf16"),
    ("--arch roberta", r"`--arch` must be one that reads this task's batches, .* got 'roberta'"),
    ("--criterion masked_lm", r"`--criterion` must be one that reads .* got 'masked_lm'"),
    (
        "--best-checkpoint-metric mlm_fr_ppl",
        r"unknown `--best-checkpoint-metric` 'mlm_fr_ppl'; did you mean .*'mlm_de_ppl'",
    ),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[o for o, _ in OPTIONS])
def test_a_mistaken_option_is_named_with_its_value(
    options, message, tiny_corpus, tmp_path, in_process
):
    with pytest.raises(SystemExit, match=message) as stopped:
        in_process("train", tiny_corpus.path, tmp_path, "--max-update", "1", *options.split())
    assert "\n" not in str(stopped.value)
    assert not list(tmp_path.glob("*.pt"))


def test_the_program_prints_one_line_without_a_traceback_and_fails(tiny_corpus, tmp_path):
    options = training_options(tiny_corpus.path, tmp_path, "--separate", "1-9")
    done = run("fairseq-train", *options, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("fairseq-xling: error: `--separate` layers")
    assert "Traceback" not in done.stdout and "Warning" not in done.stdout


def test_a_folder_for_checkpoints_that_cannot_be_made_is_named(tiny_corpus, tmp_path, in_process):
    (tmp_path / "file").touch()
    message = _fails(in_process, tiny_corpus.path, tmp_path / "file" / "checkpoints")
    assert "file/checkpoints: Not a directory" in message


def _fails(in_process, data, folder, *options) -> str:
    with pytest.raises(SystemExit) as stopped:
        in_process("train", data, folder, "--max-update", "1", *options)
    return str(stopped.value)


def test_a_folder_that_was_not_prepared_is_named(tmp_path, in_process):
    message = _fails(in_process, tmp_path / "nothing", tmp_path)
    assert "nothing: no such folder (no meta.json); run `fairseq-xling prepare" in message
    assert "not a finished data folder" in _fails(in_process, tmp_path, tmp_path)


def test_a_changed_dictionary_is_noticed(make_corpus, tmp_path, in_process):
    corpus = make_corpus()
    with open(corpus.path / "dict.txt", "a") as file:
        file.write("more 1\n")
    message = _fails(in_process, corpus.path, tmp_path / "checkpoints")
    assert "dict.txt: changed since the folder was prepared" in message


def test_a_truncated_token_file_is_noticed(make_corpus, tmp_path, in_process):
    corpus = make_corpus()
    path = corpus.path / "mono" / "train.de.bin"
    path.write_bytes(path.read_bytes()[:-2])
    message = _fails(in_process, corpus.path, tmp_path / "checkpoints")
    assert "train.de.bin" in message and "but its index counts" in message


def test_a_token_file_of_another_folder_is_noticed(make_corpus, tmp_path, in_process):
    corpus = make_corpus()
    write_items(corpus.path / "mono" / "train.de", [[7, 2], [9000, 2]] * 45, "<u2")
    message = _fails(in_process, corpus.path, tmp_path / "checkpoints")
    assert (
        "train.de.bin: sentence 2 has id 9000, but " in message and "dict.txt has only" in message
    )


def test_shared_embeddings_over_separate_vocabularies_are_refused(
    make_corpus, tmp_path, in_process
):
    corpus = make_corpus(mode="separate")
    message = _fails(in_process, corpus.path, tmp_path, "--separate", "1")
    assert "has a vocabulary per language, so `--separate` must name 'emb'" in message


def test_extra_anchors_without_a_dictionary_are_refused(make_corpus, tmp_path, in_process):
    corpus = make_corpus()
    for lang in ("en", "de"):
        (corpus.path / f"anchors.{lang}.json").unlink()
    message = _fails(in_process, corpus.path, tmp_path, "--extra-anchors")
    assert "has no dictionary between en, de; prepare it with --dictionary" in message


@pytest.fixture(scope="module")
def checkpoint(tiny_corpus, tmp_path_factory):
    """A checkpoint after one update."""
    folder = tmp_path_factory.mktemp("checkpoint")
    options = "--max-update 1 --disable-validation".split()
    engine.in_process("train", *training_options(tiny_corpus.path, folder, *options))
    return folder / "checkpoint_last.pt"


def _resume(in_process, data, folder, checkpoint, *options) -> str:
    return _fails(in_process, data, folder, "--restore-file", str(checkpoint), *options)


def test_a_checkpoint_of_another_plan_is_refused(tiny_corpus, tmp_path, checkpoint, in_process):
    message = _resume(in_process, tiny_corpus.path, tmp_path, checkpoint, "--separate", "emb")
    assert "it was trained with separate '', this model has 'tokens,positions,softmax'" in message


def test_a_checkpoint_of_other_languages_is_refused(tiny_corpus, tmp_path, checkpoint, in_process):
    message = _resume(in_process, tiny_corpus.path, tmp_path, checkpoint, "--languages", "de,en")
    assert "it was trained with languages ['en', 'de'], this model has ['de', 'en']" in message


def test_a_checkpoint_of_another_dictionary_is_refused(
    make_corpus, tmp_path, checkpoint, in_process
):
    corpus = make_corpus(mode="prefixed")
    message = _resume(in_process, corpus.path, tmp_path, checkpoint)
    assert ".pt does not fit: it was trained with dictionaries de:" in message


def test_a_checkpoint_of_another_size_is_refused(tiny_corpus, tmp_path, checkpoint, in_process):
    message = _resume(in_process, tiny_corpus.path, tmp_path, checkpoint, "--encoder-layers", "3")
    assert "is it of another --arch or size?" in message


class _Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_nothing_in_a_hostile_checkpoint_runs(tiny_corpus, tmp_path, in_process):
    target, hostile = tmp_path / "pwned", tmp_path / "hostile.pt"
    torch.save({"model": _Attack(target)}, hostile)
    message = _resume(in_process, tiny_corpus.path, tmp_path, hostile)
    assert "hostile.pt: not loaded, because it contains more than plain data" in message
    assert "weights_only" not in message, "torch's advice to load it unsafely"
    assert not target.exists()


def test_missing_monolingual_text_of_a_language_is_named(make_corpus, tmp_path, in_process):
    corpus = make_corpus()
    meta = read_json(corpus.path / "meta.json")
    del meta["mono"]["train"]["de"]
    write_json(corpus.path / "meta.json", meta)
    message = _fails(in_process, corpus.path, tmp_path)
    assert "has no monolingual 'train' text of language 'de'" in message


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tiny_corpus, tmp_path):
    """A bound on the size of files stands in for the disk: writing fails in the middle."""
    options = "--max-update 8 --save-interval-updates 4 --disable-validation".split()
    bounded = tmp_path / "bounded.py"
    bounded.write_text(
        "import resource, runpy, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "del sys.argv[0]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    save_dir = tmp_path / "checkpoints"
    arguments = training_options(tiny_corpus.path, save_dir, *options)
    done = launch([sys.executable, bounded, *command("fairseq-train", *arguments)], timeout=120)
    assert done.returncode != 0
    assert "fairseq-xling: error:" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr + done.stdout
    assert not list(save_dir.iterdir())
