"""`--emission` through fairseq-train and fairseq-generate, from one that knows the words."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import sacrebleu
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.generation.translator import Translator
from fairseq_xling.models.identity import KEY, encode_identity, read_identity
from tests.autoregressive_model import save_autoregressive
from tests.end_to_end.engine import in_process, launch, table_of
from tests.end_to_end.word_study import DIM, FFN, LAYERS, POSITIONS

ROOT = Path(__file__).resolve().parents[2]
MODEL = (
    f"--task cdlm --arch tri_bert_tiny --criterion unified_lm --encoder-layers {LAYERS} "
    f"--encoder-embed-dim {DIM} --lm-head linear --encoder-ffn-embed-dim {FFN} "
    f"--max-positions {POSITIONS}"
)
TRAIN = (
    "--objectives cdlm --directions en-xx --optimizer adam --lr 3e-3 --max-tokens 512 --cpu "
    "--num-workers 0 --disable-validation --dropout 0 --attention-dropout 0 --seed 1"
)


@pytest.fixture(scope="module")
def aligned(backwards, tmp_path_factory):
    """Which words to write, learnt with the right order."""
    folder = tmp_path_factory.mktemp("aligned")
    train(backwards, folder, "--max-update 100 --epoch-updates 100")
    return folder / "checkpoint_last.pt"


def train(study, folder, *options, start=None):
    begun = ("--finetune-from-model", start) if start else ()
    options = " ".join(map(str, options)).split()
    return in_process(
        "train",
        *(study.data, "--user-dir", USER_DIR, "--save-dir", folder),
        *(*MODEL.split(), *TRAIN.split(), *begun, *options),
    )


@pytest.fixture(scope="module")
def trained(backwards, aligned, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ctc")
    options = "--emission ctc --upsample 2 --max-update 100 --epoch-updates 100"
    train(backwards, folder, options, start=aligned)
    return folder / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def lattice(backwards, aligned, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lattice")
    options = "--emission lattice --upsample 4 --max-update 120 --epoch-updates 120"
    train(backwards, folder, options, start=aligned)
    return folder / "checkpoint_last.pt"


@pytest.mark.slow
def test_slots_learn_an_order_that_nobody_gives(backwards, aligned, trained, lattice):
    given = backwards.generate("--path", aligned, "--ordering", "oracle")
    outputs = (backwards.generate("--path", path) for path in (aligned, trained, lattice))
    without, ctc, path, oracle = (
        float(re.search(r"BLEU = (\d+\.\d+)", output)[1]) for output in (*outputs, given)
    )
    assert without < 40 < 60 < ctc and path > 60 and oracle > 80
    identity = read_identity(load_plain(trained)["model"])
    assert (identity["emission"], identity["upsample"]) == ("ctc", 2)


def test_a_search_over_slots_is_at_least_as_good_as_the_likeliest_alignment(backwards, trained):
    bleu = [
        float(re.search(r"BLEU = (\d+\.\d+)", backwards.generate("--path", trained, *options))[1])
        for options in ((), ("--slot-beam", "4", "--nbest", "2"))
    ]
    assert bleu[1] >= bleu[0] - 1.0
    found = next(Translator.load(trained, slot_beam=4).hypotheses(["sun tree red blue"], nbest=4))
    assert len({one.text for one in found}) == len(found) == 4
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.fixture(scope="module")
def autoregressive(backwards, tmp_path_factory):
    path = tmp_path_factory.mktemp("autoregressive") / "other.pt"
    save_autoregressive(path, backwards.data, ("en", "xx"), seed=4)
    return path


@pytest.mark.slow
def test_the_benchmark_of_trained_translators_translates_with_every_system(
    backwards, trained, autoregressive
):
    pytest.importorskip("ctranslate2")
    text = f"{backwards.data.parent / 'en'},{backwards.data.parent / 'xx'}"
    done = launch(
        [
            *(sys.executable, ROOT / "benchmarks" / "translators.py"),
            *("--ours", trained, "--autoregressive", autoregressive, "--data", backwards.data),
            *("--text", text, "--target-lang", "xx", "--slot-beam", "3"),
            *"--batch-size 8 --timed 16 --singly 3 --rounds 1 --threads 1".split(),
        ],
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    header, _, *rows = table_of(done.stdout)
    rows = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert set(rows) == {
        *(f"ours {kind}" for kind in ("fp32", "bf16", "int8")),
        *(f"ours, beam 3 {kind}" for kind in ("fp32", "int8")),
        *(f"fairseq {search} fp32" for search in ("greedy", "beam 5")),
        *(f"CTranslate2 {s} {kind}" for s in ("greedy", "beam 5") for kind in ("fp32", "int8")),
    }
    english = (backwards.data.parent / "en").read_text().splitlines()
    found = Translator.load(trained).translate(english)
    bleu = sacrebleu.corpus_bleu(found, [backwards.lines["xx"]]).score
    assert float(rows["ours fp32"]["BLEU"]) == pytest.approx(bleu, abs=0.01)


def test_a_blank_penalty_makes_translations_longer(trained):
    lines = ["dog cat", "sun tree red blue"]
    words = [
        sum(
            len(line.split()) for line in Translator.load(trained, blank_penalty=x).translate(lines)
        )
        for x in (-30.0, 0.0, 30.0)
    ]
    assert words[0] == 0 < words[1] <= words[2] and words[0] < words[2]


@pytest.mark.slow
def test_a_lattice_is_searched_for_several_translations(lattice):
    lines = ["sun tree red blue", "", "dog"]
    found = list(Translator.load(lattice, slot_beam=4).hypotheses(lines, nbest=4))
    for line, row in zip(lines, found, strict=True):
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)
        written = {tuple(one.tokens) for one in row}
        assert len(written) == len(row) > 1 if line else written == {()}


@pytest.mark.slow
def test_a_word_bonus_makes_translations_longer_and_a_step_ahead_is_another_path(lattice):
    lines = ["dog cat", "sun tree red blue"]
    texts = [
        list(Translator.load(lattice, word_bonus=x).translate(lines)) for x in (-20.0, 0.0, 20.0)
    ]
    words = [sum(map(len, map(str.split, text))) for text in texts]
    assert words[0] < words[1] < words[2]
    ahead = list(Translator.load(lattice, lookahead=True).translate(lines))
    assert words[0] < sum(map(len, map(str.split, ahead))) < words[2]


def test_a_model_from_before_slots_of_some_layers_is_read_and_one_of_others_refused(
    backwards, trained, tmp_path
):
    state = load_plain(trained)
    assert "slot_layers" not in read_identity(state["model"])
    del state["cfg"]["model"]["slot_layers"]
    state["cfg"]["task"] |= {"ngram": None, "rescore": None}  # options that there were
    torch.save(state, tmp_path / "older.pt")
    lines = ["sun tree red blue", "dog"]
    own, older = (
        Translator.load(path).translate(lines) for path in (trained, tmp_path / "older.pt")
    )
    assert list(own) == list(older)
    assert "BLEU = " in backwards.generate("--path", tmp_path / "older.pt")
    identity = {**read_identity(state["model"]), "slot_layers": 1}
    state["model"][KEY] = encode_identity(identity)
    torch.save(state, tmp_path / "other.pt")
    with pytest.raises(UserError, match="slot_layers"):
        Translator.load(tmp_path / "other.pt")


def test_a_killed_training_resumes_and_glancing_is_logged(backwards, aligned, tmp_path):
    options = (
        "--emission ctc --upsample 3 --slot-layers 1 --glancing 0.5 "
        "--log-format json --log-interval 1 --lr-scheduler polynomial_decay --total-num-update 6"
    )
    assert "plain_loss" in train(
        backwards, tmp_path / "whole", options, "--max-update 6",
        start=aligned,
    )  # fmt: skip
    (tmp_path / "parts").mkdir()
    half = tmp_path / "whole" / "checkpoint3.pt"
    half.rename(tmp_path / "parts" / "checkpoint_last.pt")
    train(backwards, tmp_path / "parts", options, "--max-update 6")
    one, other = (
        load_plain(tmp_path / name / "checkpoint_last.pt")["model"] for name in ("whole", "parts")
    )
    assert one.keys() == other.keys()
    assert all((one[name] == other[name]).all() for name in one)


def test_translations_that_need_more_slots_are_counted(tmp_path):
    (tmp_path / "en").write_text("dog cat\n" * 8)
    (tmp_path / "xx").write_text(f"{'xdog xcat ' * 9}\n" * 8)
    (tmp_path / "links").write_text("0-0 1-1\n" * 8)
    data = tmp_path / "data"
    words = ("--vocab-type", "word", "--vocab-size", "200")
    pair = f"train.en-xx={tmp_path / 'en'},{tmp_path / 'xx'}"
    links = f"train.en-xx={tmp_path / 'links'}"
    call = ("prepare", data, "--languages", "en,xx", *words, "--parallel", pair)
    assert main([*map(str, call), "--alignment", links]) == 0
    output = train(
        *(SimpleNamespace(data=data), tmp_path / "out"),
        *("--emission ctc --upsample 2 --max-update 2", "--log-format json", "--log-interval 1"),
    )
    assert re.search(r'"unfit": "?8', output)
    assert set(re.findall(r'"loss": "(\S+)"', output)) == {"0"}
    line = "8 of 8 translations are longer than 2 slots for each token of their source (--upsample)"
    assert line in output
    with pytest.raises(SystemExit, match=r"8 translations of train en-xx are longer than `--upsa"):
        train(
            *(SimpleNamespace(data=data), tmp_path / "refused"),
            *("--emission ctc --upsample 2 --max-update 2", "--too-long refuse"),
        )


MISTAKES = [
    ("--emission sideways", "unknown `--emission` 'sideways'"),
    (
        f"--emission ctc --slot-layers {LAYERS // 2 + 1}",
        f"`--slot-layers` must be at most half of `--encoder-layers`, which is {LAYERS // 2}, got",
    ),
    ("--slot-layers 1", "`--slot-layers` cannot be used with `--emission aligned`"),
    ("--emission ctc --no-trilayer", "`--emission ctc` cannot be used with `--no-trilayer`"),
    ("--objectives mlm --no-trilayer --glancing 0.5", "`--glancing` needs a TRILayer, got 0.5"),
]


@pytest.mark.parametrize(("options", "line"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistaken_emission_is_one_line(backwards, tmp_path, options, line):
    with pytest.raises(SystemExit) as error:
        train(backwards, tmp_path / "out", options, "--max-update 1")
    assert str(error.value).startswith("fairseq-xling: error: ") and line in str(error.value)
    assert not list(tmp_path.rglob("*.pt"))


def test_a_checkpoint_of_another_emission_does_not_fit(backwards, trained, tmp_path):
    for options, line in (
        ("", "it was trained with `--emission ctc`, this model has aligned"),
        ("--emission ctc --upsample 3", "upsample"),
        ("--emission ctc --slot-layers 1", "slot_layers 0, this model has 1"),
        ("--emission lattice", "emission 'ctc', this model has 'lattice'"),
    ):
        with pytest.raises(SystemExit) as error:
            train(
                *(backwards, tmp_path / "out", options, "--max-update 1"),
                start=trained,
            )
        assert line in str(error.value)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--ordering", "predicted"),
            "`--ordering` must be identity for a model with `--emission ctc",
        ),
        (
            ("--ordering", "oracle"),
            "`--ordering` must be identity for a model with `--emission ctc",
        ),
        (
            ("--path", "BOTH"),
            "`--path` must name models of one `--emission`, got ctc --upsample 2 and aligned",
        ),
        (
            ("--path", "ALIGNED", "--slot-beam", "2"),
            "`--slot-beam` must be 1 for a model with `--emission aligned`, which has no search",
        ),
        (
            ("--slot-beam", "2", "--nbest", "3"),
            "`--nbest` must be at most 2, the number of candidates of `--ordering identity` and a "
            "larger `--slot-beam` has more, got 3",
        ),
        (
            ("--path", "ALIGNED", "--blank-penalty", "1"),
            "`--blank-penalty` has no effect on a model with `--emission aligned`, got 1",
        ),
        (
            ("--word-bonus", "0"),
            "`--word-bonus` has no effect on a model with `--emission ctc --upsample 2`, got 0",
        ),
        (
            ("--lookahead",),
            "`--lookahead` has no effect on a model with `--emission ctc --upsample 2`",
        ),
        pytest.param(
            ("--path", "LATTICE", "--lookahead", "--slot-beam", "3"),
            "`--lookahead` has no effect on a search, which `--slot-beam` 3 asks for",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("--path", "LATTICE", "--lookahead", "--word-bonus", "1"),
            "`--word-bonus` has no effect with `--lookahead`, got 1",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_slots_have_no_other_order_and_no_other_company(
    backwards, aligned, trained, request, options, line
):
    paths = {"BOTH": f"{trained}:{aligned}", "ALIGNED": aligned}
    if "LATTICE" in options:
        paths["LATTICE"] = request.getfixturevalue("lattice")
    given = ("--path", trained, *(paths.get(option, option) for option in options))
    with pytest.raises(SystemExit) as error:
        backwards.generate(*given)
    assert line in str(error.value)
