"""`fairseq-xling init`: from a published encoder to a training that starts from it."""

import shlex

import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from tests.end_to_end.engine import in_process, load, logged
from tests.tiny_sources import write_fairseq_roberta, write_folder

TRAINING = (
    f"--user-dir {USER_DIR} --criterion unified_lm --objectives mlm --optimizer adam --lr 1e-3 "
    "--max-tokens 200 --cpu --num-workers 0 --log-format json --log-interval 1"
)


def init(*arguments) -> int:
    return main(["init", *map(str, arguments)])


def printed_training_line(output: str) -> list[str]:
    """The arguments of the fairseq-train command that `init` prints last."""
    last = output.strip().splitlines()[-1]
    start = "train it with: fairseq-train "
    assert last.startswith(start)
    return shlex.split(last.removeprefix(start))


def test_a_migration_starts_from_the_written_checkpoint(tiny_corpus, tmp_path, capsys):
    source, file = tmp_path / "bert", tmp_path / "init.pt"
    write_folder(source, "bert")
    places = ["--data", str(tiny_corpus.path), "--output", str(file)]
    assert init(source, *places, "--arch", "tri_bert_tiny") == 0
    printed = capsys.readouterr().out
    assert f"{file}: from {source} (bert), phase init" in printed

    # fairseq-validate takes it as it is ...
    validated = in_process(
        *("validate", str(tiny_corpus.path), "--user-dir", str(USER_DIR)),
        *("--task", "cdlm", "--path", str(file), "--max-tokens", "200", "--cpu"),
        *("--num-workers", "0"),
    )
    assert "valid on 'valid' subset" in validated
    # ... and fairseq-train, by the line that was printed, begins a phase with its weights.
    line = printed_training_line(printed)
    line += [*TRAINING.split(), "--trelm-phase", "commonality", "--max-update", "1"]
    save_dir = tmp_path / "commonality"
    trained = in_process("train", *line, "--save-dir", save_dir)
    assert len(logged(trained, "train")) == 1
    before, after = load(file)["model"], load(save_dir / "checkpoint_last.pt")["model"]
    frozen = [name for name in before if ".layers." in name]
    assert frozen and all(torch.equal(before[name], after[name]) for name in frozen)
    assert not torch.equal(before["encoder.trilayer.fc1.bias"], after["encoder.trilayer.fc1.bias"])
    encoder = Encoder.load(file)
    assert (encoder.num_layers, encoder.width, encoder.languages) == (3, 16, ["en", "de"])


def test_raw_vectors_need_no_data_and_ready_ones_become_embeddings(tiny_corpus, tmp_path, capsys):
    source, raw, file = tmp_path / "roberta", tmp_path / "raw.safetensors", tmp_path / "init.pt"
    write_folder(source, "roberta")
    assert init(source, "--source-vectors", raw) == 0
    assert capsys.readouterr().out.strip() == (
        f"{raw}: 20 raw embeddings, 16 wide; 15 words, counted by rank"
    )
    digest = DataFolder(tiny_corpus.path).dictionary_digest("en")
    rows = read_vectors(raw).vectors[:1].repeat(86, axis=0)
    mapped = tmp_path / "mapped.safetensors"
    write_vectors(mapped, Vectors(rows, torch.ones(86).long().numpy(), None, {"en": digest}))
    places = ["--data", tiny_corpus.path, "--output", file, "--vectors", mapped, "--keep-norms"]
    assert init(source, *places, "--arch", "tri_roberta_tiny") == 0
    table = load(file)["model"]["encoder.tokens.shared.weight"]
    assert torch.equal(table[6:], torch.from_numpy(rows[6:]))


def test_a_fairseq_checkpoint_and_one_of_ours_are_sources_too(tiny_corpus, tmp_path, capsys):
    write_fairseq_roberta(tmp_path / "roberta")
    own, file = tmp_path / "own.pt", tmp_path / "init.pt"
    data = ["--data", tiny_corpus.path]
    source = tmp_path / "roberta" / "model.pt"
    arch = "separable_transformer_tiny"
    assert init(source, *data, "--output", own, "--arch", arch) == 0
    assert init(own, *data, "--output", file, "--copy-shared") == 0
    report = capsys.readouterr().out
    assert f"{file}: from {own} (separable_transformer), phase init" in report
    assert "80 symbols in common have the source's; special symbols have the source's" in report
    ours, theirs = load(file)["model"], load(own)["model"]
    name = "encoder.tokens.shared.weight"
    assert torch.equal(ours[name], theirs[name])


@pytest.fixture
def fails(capsys):
    """The single line that the command prints for bad input."""

    def call(*arguments) -> str:
        assert init(*arguments) == 1
        ours = [
            line
            for line in capsys.readouterr().err.strip().splitlines()
            if line.startswith("fairseq-xling: error: ")
        ]
        assert len(ours) == 1
        return ours[0].removeprefix("fairseq-xling: error: ")

    return call


def test_bad_input_is_answered_in_one_line_and_writes_nothing(fails, tiny_corpus, tmp_path):
    source, file = tmp_path / "bert", tmp_path / "init.pt"
    write_folder(source, "bert", num_hidden_layers=3)
    places = ["--data", tiny_corpus.path, "--output", file]
    assert fails(source) == ("nothing to do: give `--data` and `--output`, or `--source-vectors`")
    assert fails(source, "--output", file) == "`--data` and `--output` go together"
    assert fails(tmp_path / "no.pt", *places) == f"{tmp_path}/no.pt: no such source checkpoint"
    assert fails(source, *places) == (
        f"{source}: a TRILayer needs an even number of layers, got 3 (`--no-trilayer` leaves it "
        "out)"
    )
    assert fails(source, *places, "--no-trilayer", "--embeddings", "vectors") == (
        "`--embeddings vectors` needs `--vectors` of language en"
    )
    missing = tmp_path / "mapped.safetensors"
    assert fails(source, *places, "--no-trilayer", "--vectors", missing) == (
        f"{missing}: no such file"
    )
    assert not file.exists()
