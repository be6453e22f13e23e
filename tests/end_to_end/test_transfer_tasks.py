"""What training, `predict` and `eval transfer` make of settings and files, through the CLIs."""

import json

import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.reports.record import read_record
from fairseq_xling.tasks.predict import Predictor
from tests.end_to_end.engine import load, logged
from tests.records import measured


@pytest.fixture(scope="module")
def home(study_world):
    return study_world


@pytest.fixture
def tune(home, fairseq_train):
    """``tune(folder, train, valid, *extra)``: the output of a fine-tuning on English files."""

    def call(folder, train, valid, *extra):
        return fairseq_train(
            *(home / "data", "--user-dir", USER_DIR, "--task", "cross_lingual_transfer"),
            *("--arch", "cross_lingual_transfer", "--criterion", "cross_lingual_transfer"),
            *("--encoder", home / "model" / "checkpoint_last.pt", "--optimizer", "adam"),
            *("--train-file", f"en={train}", "--valid-file", f"en={valid}", "--lr", "1e-3"),
            *"--batch-size 8 --max-epoch 1 --cpu --num-workers 0 --log-format json".split(),
            *("--no-progress-bar", "--log-interval", "1", "--save-dir", folder, *extra),
        )

    return call


def gold(home, name):
    return home / "text" / "gold" / name


def fails(capsys, *arguments):
    """The single line that the command prints for bad input."""
    capsys.readouterr()
    assert main([str(word) for word in arguments]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line.removeprefix("fairseq-xling: error: ")


def test_a_layer_that_is_not_there_is_refused_before_any_file_is_read(home, tune, tmp_path, capsys):
    for option, message in (
        ("--freeze-layers=99", "`--freeze-layers` must lie in [0, 2], got 99"),
        ("--head-lr=-1", "`--head-lr` must be above 0, got -1.0"),
    ):
        with pytest.raises(SystemExit, match=r".") as error:
            tune(tmp_path / "a", "nowhere", "nowhere", option)
        assert str(error.value).endswith(message)
    broken = tmp_path / "broken.tsv"
    broken.write_text("a\tb\tc\na\n")
    encoder = home / "model" / "checkpoint_last.pt"
    study = ["eval", "transfer", "--output", tmp_path / "run", "--encoder", encoder]
    study += ["--data", home / "data", "--train", f"en={broken}", "--valid", f"en={broken}"]
    study += ["--test", f"de={broken}", "--shift-alpha", "1"]
    for option in ("--freeze-layers", "--shift-layer"):
        message = f"`{option}` must lie in [0, 2], the layers of {encoder}, got 99"
        assert fails(capsys, *study, option, "99") == message
    assert f"{broken}:2: must have 3 columns" in fails(capsys, *study, "--shift-layer", "2")


def test_the_heads_own_rate_leaves_the_norm_of_the_gradient_as_it_is(home, tune, tmp_path):
    files = gold(home, "nli.train.en.tsv"), gold(home, "nli.valid.en.tsv")
    norms = {}
    for name, options in (("one", []), ("two", ["--head-lr", "0.1"])):
        options = [*options, "--clip-norm", "0.01", "--head-options", "dropout=0"]
        steps = logged(tune(tmp_path / name, *files, *options), "train_inner")
        norms[name] = [step["gnorm"] for step in steps]
    assert len(norms["one"]) == 8  # 60 items
    assert norms["one"][0] == norms["two"][0] and norms["one"][1:] != norms["two"][1:]


def test_a_parser_counts_punctuation_as_told_and_reads_no_sentence_in_pieces_unasked(
    home, tune, tmp_path, capsys
):
    trees = gold(home, "train.en.conllu")
    options = ["--head", "parsing", "--head-options", "arc_dim=8,label_dim=8"]
    tune(tmp_path / "parser", trees, gold(home, "valid.en.conllu"), *options)
    predict = ["predict", tmp_path / "parser" / "checkpoint_last.pt"]
    test = gold(home, "test.en.conllu")
    counted = {}
    for policy in ("keep", "drop"):
        found = tmp_path / policy
        options = ["--output", found, "--head-options", f"punctuation={policy}"]
        assert main([str(x) for x in (*predict, f"en={test}", *options)]) == 0
        options = read_record(found / "scores.json").facts["head options"]
        assert (options["punctuation"], options["arc_dim"]) == (policy, 8)
        assert {path.name for path in found.iterdir()} == {"scores.json", "test.en.conllu"}
        counted[policy] = measured(found / "scores.json")
    assert counted["keep"]["items"] == counted["keep"]["annotated"] == 60
    assert counted["keep"] != counted["drop"]
    message = fails(capsys, *predict, f"en={test}", "--output", tmp_path / "x", "--head-options",
                    "arc_dim=9")  # fmt: skip
    assert "must be among those for reading and counting (punctuation), got 'arc_dim'" in message
    message = fails(capsys, *predict, f"en={test}", "--output", test.parent)
    assert message == f"`--output` must be another folder, got that of {test}"
    rows = [f"{n}\tthe\t_\tX\t_\t_\t{n - 1}\tx\t_\t_" for n in range(1, 140)]
    long = tmp_path / "long.conllu"
    long.write_text("# text\n" + "\n".join(rows) + "\n\n")
    options = ["--unknown-labels", "wrong", "--output", tmp_path / "pieces"]
    assert main([str(x) for x in (*predict, f"en={long}", *options)]) == 0
    assert (tmp_path / "pieces" / "en.long.conllu").read_text().count("\n") == 141
    assert fails(capsys, *predict, f"en={long}", *options, "--too-long", "refuse") == (
        f"{long}:2: 141 tokens, more than the model's 128 positions (`--too-long truncate` reads "
        "it in pieces)"
    )


def questions(path, *found):
    """``path`` with questions about one text: id, answer or None, and whether it is impossible."""
    context = "the dog sees a cat in the house"
    qas = [
        {
            "id": name,
            "question": "what is there ?",
            "answers": [{"text": answer, "answer_start": context.index(answer)}] if answer else [],
            "is_impossible": impossible,
        }
        for name, answer, impossible in found
    ]
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": qas}]}]}))
    return path


def test_questions_without_answer_are_learned_counted_and_written(home, tune, tmp_path, capsys):
    both = [("a", "dog", False), ("b", None, True), ("c", None, False), ("d", "cat", False)]
    train = questions(tmp_path / "train.json", *both)
    printed = tune(tmp_path / "tuned", train, train, "--head", "span_qa")
    assert (
        f"{train}: 1 of 4 items have no annotation to learn or count; the first is {train}"
        ": question 'c'"
    ) in printed
    predict = ["predict", tmp_path / "tuned" / "checkpoint_last.pt", f"en={train}"]
    answers = {}
    for threshold in (-100, 100):
        found = tmp_path / f"found{threshold}"
        options = ["--output", found, "--head-options", f"null_threshold={threshold}"]
        assert main([str(x) for x in (*predict, *options)]) == 0
        answers[threshold] = json.loads((found / "en.train.json").read_text())
        scores = measured(found / "scores.json")
        assert (scores["items"], scores["annotated"]) == (4, 3)
        expected = 100 / 3 if threshold == -100 else 0
        assert scores["em"] >= expected - 1e-9
        assert threshold == 100 or scores["em"] == pytest.approx(expected)
    assert set(answers[-100].values()) == {""} and "" not in answers[100].values()
    # A model that has learned that there always is an answer is not asked for none.
    plain = questions(tmp_path / "plain.json", both[0], both[3])
    with pytest.raises(
        SystemExit, match="question 'b': answer 'none' is not among those of the tr"
    ):
        tune(tmp_path / "sure", plain, train, "--head", "span_qa")


def test_a_format_of_the_users_choice_is_trained_on_and_written(home, tune, tmp_path):
    for name, rows in (("train", 24), ("dev", 8)):
        content = {"content": ["the #idiom{0}# ran"], "candidates": ["dog", "house", "cat"]}
        lines = [json.dumps(content).replace("{0}", f"{n:06}") for n in range(rows)]
        (tmp_path / f"{name}.json").write_text("\n".join(lines) + "\n")
        answers = {f"#idiom{n:06}#": 2 * (n % 2) for n in range(rows)}
        (tmp_path / f"{name}_answer.json").write_text(json.dumps(answers))
    dev = tmp_path / "dev.json"
    options = ["--head", "multiple_choice", "--format", "chid"]
    tune(tmp_path / "tuned", tmp_path / "train.json", dev, *options)
    predict = ["predict", tmp_path / "tuned" / "checkpoint_last.pt", "--output", tmp_path / "out"]
    assert main([str(x) for x in (*predict, f"en={dev}")]) == 0
    assert len(json.loads((tmp_path / "out" / "en.dev.json").read_text())) == 8
    # The same model reads another format, too.
    rows = [{"question": "who ran", "choices": ["dog", "house"], "label": n} for n in (0, 1)]
    (tmp_path / "plain.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    other = [f"de={tmp_path / 'plain.jsonl'}", "--format", "choices"]
    assert main([str(x) for x in (*predict, *other)]) == 0
    scores = measured(tmp_path / "out" / "scores.json", row="de.plain.jsonl")
    assert scores["accuracy"] in (0, 50, 100)
    # A model that was trained when the passage came first is read as it was trained.
    trained = tmp_path / "tuned" / "checkpoint_last.pt"
    assert Predictor.load(trained).head.options.first == "question"
    state = load(trained)
    del state["task_state"]["head_form"]
    torch.save(state, tmp_path / "older.pt")
    assert Predictor.load(tmp_path / "older.pt").head.options.first == "passage"
    changed = Predictor.load(tmp_path / "older.pt", head_options="first=question")
    assert changed.head.options.first == "question"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--too-long", "skip"], "`--too-long`: unknown value 'skip'; known: truncate, refuse"),
        (["--preset", "clue-cmnl"], "unknown `--preset` 'clue-cmnl'; did you mean 'clue-cmnli'"),
    ],
)
def test_settings_that_are_wrong_are_answered_in_one_line(home, tmp_path, capsys, options, message):
    file = f"en={gold(home, 'nli.train.en.tsv')}"
    study = ["eval", "transfer", "--encoder", home / "model" / "checkpoint_last.pt"]
    study += ["--data", home / "data", "--train", file, "--valid", file, "--test", file]
    assert fails(capsys, *study, "--output", tmp_path, *options).startswith(message)
