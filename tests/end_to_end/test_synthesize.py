"""`fairseq-xling synthesize` as a user calls it."""

import pytest

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
        (["--languages", "en,en"], "language 'en' is named twice in 'en,en'"),
        (["--languages", "en,d-e"], "language code 'd-e' in 'en,d-e' must be letters"),
        (["--sentences", "-1"], "`--sentences` must be at least 0, got -1"),
        (["--held-out", "-2"], "`--held-out` must be at least 0, got -2"),
        (["--domain", "news"], "unknown `--domain` 'news'; known: default, other"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, options, message):
    done = call(tmp_path / "out", *options)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []
