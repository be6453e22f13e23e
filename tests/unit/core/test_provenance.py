import pytest

from fairseq_xling.core.provenance import provenance


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["/bin/fairseq-xling", "eval", "a b"], "fairseq-xling eval 'a b'"),
        (["/lib/fairseq_xling/__main__.py", "eval"], "fairseq-xling eval"),
        (["examples/clcr/gather.py", "RUN"], "python examples/clcr/gather.py RUN"),
    ],
)
def test_the_command_names_the_program_or_the_script(argv, command, monkeypatch):
    monkeypatch.setattr("sys.argv", argv)
    assert provenance({})["command"] == command
