import pytest

from fairseq_xling.cli import main


def test_what_keeps_all_languages_takes_no_language(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["export", "no.pt", "--output", str(out), "--language", "de"]) == 1
    assert "`--format fairseq` keeps all languages" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "owner"),
    [
        (["--shortlist", "words.txt"], "fairseq"),
        (["--sentence-layer", "0"], "sentence-transformers"),
    ],
)
def test_an_option_of_another_format_is_refused(tmp_path, capsys, option, owner):
    out = tmp_path / "out"
    assert main(["export", "no.pt", "--output", str(out), "--format", "hf", *option]) == 1
    expected = f"`{option[0]}` is of `--format {owner}`, got it with `--format hf`"
    assert expected in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
