"""D5: the aligners, and D6 on what they find."""

import os
import stat
import subprocess
import sys

import numpy as np
import psutil
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.text.aligners import aligners
from fairseq_xling.text.links import parse_pharaoh


def planted(seed: int = 0, count: int = 500, vocabulary: int = 50):
    """Sentence pairs in which the target is the source relabelled, neighbouring words swapped at
    random; returns both sides and the gold links of each pair."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(vocabulary)
    sources, targets, gold = [], [], []
    for _ in range(count):
        words = rng.integers(0, vocabulary, rng.integers(4, 12))
        order = np.arange(len(words))
        for k in range(0, len(words) - 1, 2):
            if rng.random() < 0.5:
                order[[k, k + 1]] = order[[k + 1, k]]
        sources.append([f"s{w}" for w in words])
        targets.append([f"t{names[words[i]]}" for i in order])
        gold.append({(int(i), j) for j, i in enumerate(order)})
    return sources, targets, gold


def write_tokens(folder, sources, targets):
    files = folder / "s.txt", folder / "t.txt"
    for path, rows in zip(files, (sources, targets), strict=True):
        path.write_text("".join(" ".join(row) + "\n" for row in rows))
    return files


def fast_align(*arguments, **more):
    aligners["fast_align"]().align(*arguments, lambda text: None, **more)


def links_of(path) -> list[set]:
    links = parse_pharaoh(path.read_bytes(), str(path))
    rows = [set() for _ in range(links.rows)]
    for row, i, j in zip(links.row, links.source, links.target, strict=True):
        rows[row].add((int(i), int(j)))
    return rows


def alignment_error_rate(found: list[set], gold: list[set]) -> float:
    """1 - 2 |A & S| / (|A| + |S|), all gold links being sure."""
    right = sum(len(a & g) for a, g in zip(found, gold, strict=True))
    return 1 - 2 * right / (sum(map(len, found)) + sum(map(len, gold)))


def test_a_planted_permutation_is_found_repeatably_whatever_the_workers(tmp_path, record_property):
    """In ``forward`` a target has one source at most, in ``reverse`` a source one target."""
    sources, targets, gold = planted()
    files, runs = write_tokens(tmp_path, sources, targets), []
    for workers in (1, 2):
        outputs = tmp_path / f"forward{workers}", tmp_path / f"reverse{workers}"
        fast_align(*files, *outputs, workers)
        runs.append([path.read_bytes() for path in outputs])
    assert runs[0] == runs[1]
    for path, side in zip(outputs, (1, 0), strict=True):
        found = links_of(path)
        assert all(len({link[side] for link in row}) == len(row) for row in found)
        error = alignment_error_rate(found, gold)
        record_property(f"alignment error rate, {path.name}", round(error, 4))
        assert error < 0.05


@pytest.mark.slow
def test_a_worker_does_not_outlive_the_process_that_waits_for_it(tmp_path):
    sources, targets, _ = planted(count=20_000, vocabulary=5_000)
    files = write_tokens(tmp_path, sources, targets)
    command = [sys.executable, "-m", "fairseq_xling.text.thot_worker"]
    command += [str(files[0]), str(files[1]), str(tmp_path / "out"), "forward"]
    code = f"import subprocess; subprocess.run({command!r})"
    parent = psutil.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert parent.stderr.readline() == "iteration 1\n"  # now inside the second one
    (worker,) = parent.children()
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs([worker], timeout=10)
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fast_align_binary", "needs the program 'fast_align' on PATH: build https://"),
        ("eflomal", "needs the program 'eflomal-align' on PATH: pip install eflomal"),
    ],
)
def test_a_missing_program_is_named_with_what_to_install(monkeypatch, name, message):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match=f"`--aligner {name}` {message}"):
        aligners[name]().check()


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a shell script of this name on PATH; it also logs how it was called."""

    def make(name: str, script: str):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/calls"\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "calls"

    return make


def align(name, tmp_path):
    files = write_tokens(tmp_path, [["a", "b"], ["c"]], [["x"], ["y", "z"]])
    aligner = aligners[name]()
    aligner.check()
    steps = []
    aligner.align(*files, tmp_path / "f", tmp_path / "r", 1, steps.append)
    return (tmp_path / "f").read_text(), (tmp_path / "r").read_text(), steps


def test_the_fast_align_program_is_called_for_both_directions(tmp_path, program):
    calls = program(
        "fast_align",
        'cat "$2" > "$2.seen"; echo "ITERATION 1" >&2\n'
        'case "$*" in *-r) echo "0-0"; echo "0-1";; *) echo "1-0"; echo "0-0 0-1";; esac',
    )
    forward, reverse, steps = align("fast_align_binary", tmp_path)
    assert (forward, reverse) == ("1-0\n0-0 0-1\n", "0-0\n0-1\n")
    both = tmp_path / "both.txt"
    assert calls.read_text() == f"-i {both} -d -o -v\n-i {both} -d -o -v -r\n"
    assert (tmp_path / "both.txt.seen").read_text() == "a b ||| x\nc ||| y z\n"
    assert steps == ["ITERATION 1"] * 2


def test_eflomal_is_called_once_for_both_directions(tmp_path, program):
    calls = program("eflomal-align", 'echo "0-0\n" > "$6"; echo "\n0-1" > "$8"')
    forward, reverse, _ = align("eflomal", tmp_path)
    assert forward.startswith("0-0") and "0-1" in reverse
    assert calls.read_text().startswith(f"-s {tmp_path}/s.txt -t {tmp_path}/t.txt -f ")


@pytest.mark.parametrize("name", ["fast_align", "eflomal-align"])
def test_a_failing_program_is_one_line_and_leaves_no_links(tmp_path, program, name):
    program(name, 'echo "half a line"; echo "out of memory" >&2; exit 3')
    option = "eflomal" if name.startswith("eflomal") else "fast_align_binary"
    with pytest.raises(UserError, match=f"{name} failed with exit status 3: out of memory"):
        align(option, tmp_path)
    assert not (tmp_path / "f").exists()


def test_a_pair_too_long_to_align_costs_no_time_and_gets_no_links(tmp_path):
    sources, targets, _ = planted(count=60)
    plain, both = tmp_path / "plain", tmp_path / "both"
    found = {}
    for folder, extra in ((plain, []), (both, [["s1", "s2"] * 10_000])):
        folder.mkdir()
        files = write_tokens(folder, [*extra, *sources], [*extra, *targets])
        outputs = folder / "f", folder / "r"
        fast_align(*files, *outputs, 2)
        found[folder] = [links_of(path) for path in outputs]
    assert [links[0] for links in found[both]] == [set(), set()]
    assert [links[1:] for links in found[both]] == found[plain]


def test_nothing_but_pairs_too_long_to_align_has_no_links(tmp_path):
    files = write_tokens(tmp_path, [["a"] * 2000], [["b"] * 2000])
    fast_align(*files, tmp_path / "f", tmp_path / "r", 2)
    assert (tmp_path / "f").read_text() == (tmp_path / "r").read_text() == "\n"


def test_a_model_of_fast_align_that_was_kept_gives_its_own_links_and_those_of_other_text(tmp_path):
    sources, targets, _ = planted(count=300)
    (tmp_path / "other").mkdir()
    files = write_tokens(tmp_path, sources, targets)
    other = [[*side[200:], ["unseen", *side[0]]] for side in (sources, targets)]
    rest, kept = write_tokens(tmp_path / "other", *other), tmp_path / "kept"
    found = [tmp_path / "f", tmp_path / "r"]
    fast_align(*files, *found, 2)
    expected = [file.read_text().splitlines() for file in found]
    kept.mkdir()
    aligners["fast_align"]().train(*files, kept, 2, lambda text: None)
    fast_align(*files, *found, 2, parameters=kept)
    assert [file.read_text().splitlines() for file in found] == expected
    fast_align(*rest, *found, 2, parameters=kept)
    for file, whole in zip(found, expected, strict=True):
        assert file.read_text().splitlines()[:-1] == whole[200:]
    with pytest.raises(UserError, match="no such model of fast_align, or a damaged one"):
        fast_align(*files, *found, 2, parameters=tmp_path / "none")
