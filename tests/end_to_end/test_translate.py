"""fairseq-generate and fairseq-interactive on `--task cdlm`, as a user runs them.

The model is made, not trained (`WordStudy`), so with the right order every translation is its
reference.
"""

import re

import pytest
import sacrebleu
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.analysis.sampled_bleu import read_samples, score
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.inputs import InputSummary
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.workflow.recipe import Run
from tests.end_to_end.engine import BIN, in_process, launch, run
from tests.end_to_end.word_study import UNKNOWN

PERFECT = "BLEU = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000"


def lines(output, kind):
    """Number: the fields of each line ``kind``, in the order of the output."""
    found = re.findall(rf"^{kind}-(\d+)\t(.*)$", output, re.MULTILINE)
    return {int(number): rest.split("\t") for number, rest in found}


def test_a_relabelled_language_is_translated_without_a_fault(relabelled):
    output = relabelled.generate("--print-alignment")
    assert f"Generate test with beam=5: {PERFECT}" in output
    found = {kind: lines(output, kind) for kind in "STHDPA"}
    for i, line in enumerate(relabelled.lines["xx"]):
        words = line.split()
        assert found["S"][i] == [relabelled.lines["en"][i]]
        assert found["T"][i] == [found["D"][i][1]] == [line]
        assert found["H"][i][1].split() == [f"▁{word}" for word in words]
        assert len(found["P"][i][0].split()) == len(words) + 1  # </s> too
        assert found["A"][i] == [" ".join(f"{k}-{k}" for k in range(len(words)))]


@pytest.mark.parametrize("flags", [(), ("--remove-bpe", "sentencepiece"), ("--batch-size", "1")])
def test_translations_are_compared_with_the_text_as_it_was(relabelled, flags):
    output = relabelled.generate("--gen-subset", "test1", *flags)
    references = [line for line in UNKNOWN["xx"] if line]
    found = {kind: lines(output, kind) for kind in "TD"}
    assert [found["T"][i] for i in range(4)] == [[line] for line in references]
    translations = [found["D"][i][1] for i in range(4)]
    expected = sacrebleu.corpus_bleu(translations, [references])
    assert f"ref_len = {expected.ref_len})" in output
    assert f"BLEU = {expected.score:.2f} " in output


def test_shards_have_the_translations_and_references_of_the_whole(relabelled):
    flags = ("--gen-subset", "test1", "--batch-size", "1")
    whole, found = lines(relabelled.generate(*flags), "H"), {"T": {}, "H": {}}
    for shard in ("0", "1"):
        output = relabelled.generate(*flags, "--num-shards", "2", "--shard-id", shard)
        for kind, so_far in found.items():
            part = lines(output, kind)
            assert part and not part.keys() & so_far.keys()
            so_far |= part
    references = [line for line in UNKNOWN["xx"] if line]
    assert [found["T"][i] for i in range(4)] == [[line] for line in references]
    assert found["H"] == whole


@pytest.mark.slow
def test_a_migration_translates_a_relabelled_language_in_both_directions(relabelled, tmp_path):
    config = TrelmConfig(
        source="source.pt",
        data=str(relabelled.data),
        languages="en,xx",
        orderings="identity",
        translate_both=True,
    )
    shape = EncoderShape(2, 16, 16, 2, 40)
    inputs = InputSummary(shape, frozenset(), {"test": ()}, (("en", "xx"),))
    run = Run(tmp_path, config)
    outcome = Migration(run, config, inputs, "xx", 1, relabelled.data)
    outcome.migrate()
    for phase in ("forward", "backward"):
        relabelled.teach(outcome.checkpoints[phase], backward=phase == "backward")
    for name, reads, writes in (("identity", "en", "xx"), ("identity, backward", "xx", "en")):
        path = outcome.translations[name]
        program, *words = run.steps[path.parent.name].commands[0]
        assert program == "fairseq-generate"
        in_process("generate", *words)
        samples = read_samples(path)
        lines = [[getattr(one, side) for one in samples] for side in ("source", "reference")]
        assert lines == [relabelled.lines[reads], relabelled.lines[writes]]
        assert score(samples, "13a")["precisions"] == [100.0] * 4
        assert score(samples, "13a")["bleu"] == pytest.approx(100.0)


def test_the_right_order_translates_a_language_that_runs_backwards(backwards):
    output = backwards.generate("--ordering", "oracle", "--print-alignment")
    assert PERFECT in output
    words = len(backwards.lines["en"][0].split())
    pairs = [f"{words - 1 - k}-{k}" for k in range(words)]
    assert sorted(lines(output, "A")[0][0].split()) == sorted(pairs)
    identity = backwards.generate("--ordering", "identity")
    # Every word is right, but hardly any two neighbours.
    assert re.search(r"BLEU = \d\d\.\d\d 100\.0/\d\d\.\d/", identity)


def test_a_head_predicts_an_order_for_every_sentence(backwards):
    output = backwards.generate(*"--ordering predicted --length-candidates 3 --nbest 3".split())
    assert len(lines(output, "H")) == len(backwards.lines["en"])
    assert len(re.findall(r"^H-0\t", output, re.MULTILINE)) == 3
    scores = [float(s) for s in re.findall(r"^H-0\t(\S+)", output, re.MULTILINE)]
    assert scores == sorted(scores, reverse=True)


def test_the_other_direction_needs_only_its_name(backwards):
    output = backwards.generate("--ordering", "oracle", "-s", "xx", "-t", "en")
    assert lines(output, "S")[0] == [backwards.lines["xx"][0]]
    assert lines(output, "T")[0] == [backwards.lines["en"][0]]


@pytest.mark.parametrize("flags", [(), ("--cpu-bf16",)])
@pytest.mark.parametrize("limit", ["--batch-size 1", "--batch-size 64", "--max-tokens 30"])
def test_neither_precision_nor_batches_change_the_translations(relabelled, flags, limit):
    assert PERFECT in relabelled.generate(*flags, *limit.split())


@pytest.mark.parametrize(
    ("flags", "result"),
    [
        (("--scoring", "bleu"), "BLEU4 = 100.00, 100.0/100.0/100.0/100.0 (BP=1.000"),
        (("--scoring", "chrf"), "chrF2 = 100.00"),
        (("--scoring", "sacrebleu", "--sacrebleu-tokenizer", "char"), PERFECT),
        (("--scoring", "sacrebleu", "--sacrebleu-tokenizer", "zh"), PERFECT),
        (("--scoring", "sacrebleu", "--sacrebleu-char-level"), PERFECT),
    ],
)
def test_every_score_of_fairseq_can_be_asked_for(relabelled, flags, result):
    assert result in in_process("generate", *relabelled.options(*flags))


def test_an_ensemble_of_one_model_twice_is_that_model(relabelled):
    both = f"{relabelled.checkpoint}:{relabelled.checkpoint}"
    assert PERFECT in relabelled.generate("--path", both)


def test_long_sources_are_cut_with_a_warning_or_refused(relabelled, tmp_path):
    state = load_plain(relabelled.checkpoint)
    state["model"] = {
        name: tensor[:6] if name.startswith("encoder.positions") else tensor
        for name, tensor in state["model"].items()
        if "auxiliary" not in name
    }
    path = tmp_path / "short.pt"
    torch.save(state, path)
    short = ("--path", path, "--model-overrides", "{'max_positions': 6, 'auxiliary': ''}")
    count = sum(len(line.split()) > 4 for line in relabelled.lines["en"])
    output = relabelled.generate(*short)
    assert f"test: {count} sentences are cut at --max-positions 6" in output
    assert max(len(fields[1].split()) for fields in lines(output, "D").values()) == 4
    with pytest.raises(SystemExit) as error:
        relabelled.generate(*short, "--too-long", "refuse")
    assert str(error.value) == (
        f"fairseq-xling: error: {count} sentences of test are longer than `--max-positions` 6, and "
        "`--too-long` is refuse"
    )


def test_a_model_without_the_head_cannot_predict_an_order(relabelled, tmp_path):
    state = load_plain(relabelled.checkpoint)
    state["model"] = {k: v for k, v in state["model"].items() if "auxiliary" not in k}
    path = tmp_path / "headless.pt"
    torch.save(state, path)
    with pytest.raises(SystemExit) as error:
        relabelled.generate(
            *("--path", path, "--model-overrides", "{'auxiliary': ''}", "--ordering", "predicted")
        )
    assert str(error.value) == (
        "fairseq-xling: error: `--ordering predicted` needs a model trained with `--auxiliary "
        "order`, got one with none"
    )


def test_generate_as_a_process_writes_its_results_into_a_folder(relabelled, tmp_path):
    options = map(str, relabelled.options("--results-path", tmp_path, "--scoring", "sacrebleu"))
    run("fairseq-generate", *options)
    assert PERFECT in (tmp_path / "generate-test.txt").read_text()


def test_results_that_cannot_be_written_are_one_line(relabelled, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as error:
        relabelled.generate("--results-path", tmp_path / "file" / "results")
    line = str(error.value)
    assert line == f"fairseq-xling: error: {tmp_path}/file/results: Not a directory"


def interactive(study, text, *flags):
    return launch(
        [
            *(BIN / "fairseq-interactive", study.data, "--user-dir", USER_DIR, "--task", "cdlm"),
            *("--path", study.checkpoint, "--cpu", "--buffer-size", "4", "--batch-size", "2"),
            *flags,
        ],
        typed=text,
    )


def test_typed_lines_are_translated_empty_and_unknown_ones_too(relabelled):
    lines_in = ["dog cat", "", "sun zebra tree", "one", "bird"]
    done = interactive(relabelled, "\n".join(lines_in) + "\n", "--print-alignment")
    assert done.returncode == 0, done.stderr
    found = {i: fields[1] for i, fields in lines(done.stdout, "D").items()}
    assert found == {0: "xdog xcat", 1: "", 2: "xsun <unk> xtree", 3: "xone", 4: "xbird"}
    assert lines(done.stdout, "A") == {
        **{0: ["0-0 1-1"], 1: [""], 2: ["0-0 1-1 2-2"]},
        **{3: ["0-0"], 4: ["0-0"]},
    }


def test_typed_lines_have_predicted_orders_but_no_oracle(relabelled):
    done = interactive(relabelled, "dog cat\n\n", "--ordering", "predicted")
    assert done.returncode == 0, done.stderr
    assert set(lines(done.stdout, "D")) == {0, 1}
    done = interactive(relabelled, "dog cat\n", "--ordering", "oracle")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "fairseq-xling: error: `--ordering oracle` reads the word alignments of a data folder, "
        "but typed text has none; use identity or predicted"
    )


def test_an_input_that_is_missing_or_no_text_is_one_line(relabelled, tmp_path):
    done = interactive(relabelled, "", "--input", str(tmp_path / "none.txt"))
    assert done.returncode == 1
    # In a process of its own, the engine may say before that tensorboardX is missing.
    line = f"fairseq-xling: error: {tmp_path}/none.txt: no such file"
    assert done.stderr.splitlines()[-1] == line
    assert "Traceback" not in done.stderr
    (tmp_path / "latin.txt").write_bytes(b"dog\n\xff\n")
    done = interactive(relabelled, "", "--input", str(tmp_path / "latin.txt"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "latin.txt:2: not UTF-8" in done.stderr.splitlines()[-1]
