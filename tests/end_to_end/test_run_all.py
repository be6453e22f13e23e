"""`examples/run_all.sh`, with scripts that only say that they ran in the place of its own."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = """#!/usr/bin/env bash
echo "$0 $*" >> "$CALLS"
case "$0" in *emerging*) [ ! -f "$CALLS.broken" ] || { echo "no disk" >&2; exit 3; } ;; esac
"""


@pytest.fixture
def run_all(tmp_path):
    """The script, beside stand-ins of all that it calls; a call's outcome and the calls so far."""
    here = tmp_path / "examples"
    for script in EXAMPLES.glob("*/*.sh"):
        copy = here / script.relative_to(EXAMPLES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(SCRIPT)
        copy.chmod(0o755)
    shutil.copy(EXAMPLES / "run_all.sh", here)
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/usr/bin/env bash\necho "python $*"\n')
    python.chmod(0o755)
    calls = tmp_path / "calls"
    calls.touch()

    def run(*arguments, **variables):
        done = subprocess.run(
            [here / "run_all.sh", *map(str, arguments)],
            env={"PATH": f"{python.parent}:/usr/bin:/bin", "CALLS": str(calls), **variables},
            capture_output=True,
            text=True,
        )
        return done, calls.read_text().splitlines()

    return run


def test_every_script_of_the_examples_is_run_by_one_command(run_all, tmp_path):
    done, _ = run_all(tmp_path / "runs", LIST="1", DATA="/data", PARSER="/parser.pt")
    assert done.returncode == 0, done.stderr
    called = set(re.findall(r"examples/(\w+/\w+\.sh)", done.stdout))
    helpers = {  # parts of the others
        "clcr/running.sh",
        "transfer/by_language.sh",
        "transfer/cdlm_encoder.sh",
        "trelm/captions_encoder.sh",
        "trelm/source.sh",
        "trelm/teacher.sh",
    }
    assert called == {str(p.relative_to(EXAMPLES)) for p in EXAMPLES.glob("*/*.sh")} - helpers


def test_a_failed_run_is_named_and_the_same_command_makes_up_for_it_alone(run_all, tmp_path):
    runs = tmp_path / "runs"
    (tmp_path / "calls.broken").touch()
    done, calls = run_all(runs)
    assert done.returncode == 1
    assert "no disk" in done.stderr and "failed: emerging-synthetic; " in done.stderr
    others = len(calls) - 1
    assert others >= 10 and not any("/data" in call for call in calls)
    (tmp_path / "calls.broken").unlink()
    done, again = run_all(runs)
    assert done.returncode == 0, done.stderr
    assert len(again) == len(calls) + 1 and "emerging_structure/1_synthetic.sh" in again[-1]
    assert done.stdout.count("finished before") == others
    pages = re.findall(r"^python .*/(\w+)/make_readme\.py$", done.stdout, re.MULTILINE)
    assert sorted(pages) == sorted(p.parent.name for p in EXAMPLES.glob("*/make_readme.py"))
    assert "trelm/README.md: nothing new of trelm/minilm" in done.stdout
    times = [line.split("\t") for line in (runs / "times.tsv").read_text().splitlines()]
    assert len(times) == len(again) and {minutes for _, minutes in times} == {"0"}


def test_some_runs_can_be_chosen_and_an_unknown_name_is_refused_before_anything_runs(
    run_all, tmp_path
):
    done, calls = run_all(tmp_path / "runs", "clcr-probing")
    assert done.returncode == 0 and len(calls) == 1 and "4_probing.sh" in calls[0]
    done, calls = run_all(tmp_path / "others", "clcr-probing", "clcr")
    assert done.returncode == 2 and len(calls) == 1
    assert "NAME must be one of" in done.stderr and done.stderr.endswith("got 'clcr'\n")
