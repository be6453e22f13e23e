"""`fairseq-xling synthesize` as a user calls it."""

import pytest

from fairseq_xling.cli import main
from tests.end_to_end.engine import BIN, launch


def call(*arguments):
    return launch(
        [BIN / "fairseq-xling", "synthesize", *map(str, arguments)],
        timeout=120,
    )


def test_it_writes_a_corpus_shows_progress_and_prints_the_folder(tmp_path):
    out = tmp_path / "corpus"
    done = call(out, "--languages", "en,zh", "--sentences", 50, "--held-out", 20, "--nli", 6)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(out)
    assert "100%" in done.stderr
    assert (out / "mono/train.zh.txt").read_text(encoding="utf-8").count("\n") == 50
    assert call(out, "--languages", "en,zh", "--sentences", 50, "--held-out", 20).returncode == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--languages", "en,xxx"], "unknown synthetic language 'xxx'; did you mean 'xx'?"),
        (["--sentences", "-1"], "`--sentences` must be at least 0, got -1"),
        (["--domain", "news"], "unknown `--domain` 'news'; known: default, other"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, capsys, options, message):
    assert main(["synthesize", str(tmp_path / "out"), *options]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == []
