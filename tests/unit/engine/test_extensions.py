"""Folders and packages of a user's own, as `fairseq-xling` and Python import them."""

import shutil
import sys

import pytest

import fairseq_xling
from fairseq_xling import command_line
from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import extensions
from fairseq_xling.engine.extensions import GROUP, VARIABLE, load_plugins

VERB = '''"""Print the words of the command that a step of this one repeats."""


def add_arguments(parser):
    parser.add_argument("--loud", action="store_true", help="nothing")


def run(args):
    print(args.argv)
'''


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    """What a test imports is forgotten at its end."""
    before = set(sys.modules)
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(extensions, "_loaded", [])
    monkeypatch.setattr(extensions, "_packages_loaded", False)
    command_line._verbs_of.cache_clear()  # folders of several tests have one name
    yield
    for name in [n for n in set(sys.modules) - before if n.startswith("xling_own")]:
        del sys.modules[name]


@pytest.fixture
def make(tmp_path):
    """``make(name, code, verb)``: a folder that notes each import in ``imports``."""

    def folder(name, code="", **verbs):
        place = tmp_path / name
        place.mkdir(parents=True)
        note = f"open({str(tmp_path / 'imports')!r}, 'a').write({name!r} + ' ')\n"
        (place / "__init__.py").write_text(note + code)
        for verb, text in verbs.items():
            (place / "verbs").mkdir(exist_ok=True)
            (place / "verbs" / f"{verb}.py").write_text(text)
        return place

    return folder


@pytest.fixture
def install(make, tmp_path, monkeypatch):
    """A package with an entry point, as pip installs one."""

    def package(name, code="", **verbs):
        make(name, code, **verbs)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-tools\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\nmine = {name}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return package


def imports(tmp_path):
    file = tmp_path / "imports"
    return file.read_text().split() if file.exists() else []


def said(capsys, *argv):
    """The one line in which a command ends."""
    assert main(list(argv)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0].removeprefix("fairseq-xling: error: ")


def test_a_folder_is_imported_once_however_often_it_is_named(make, tmp_path, monkeypatch):
    folder = make("xling_own_a")
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    load_plugins("xling_own_a", folder, "xling_own_a/")
    fairseq_xling.load_plugins(tmp_path / "link")
    assert imports(tmp_path) == ["xling_own_a"]


def test_programs_that_are_started_know_the_folders(make, monkeypatch):
    one, other = make("xling_own_b"), make("xling_own_c")
    monkeypatch.setenv(VARIABLE, str(one))
    load_plugins(other)
    assert extensions.named_folders() == [str(one), str(other)]
    assert {"xling_own_b", "xling_own_c"} <= set(sys.modules)


def test_a_folder_that_imports_the_plugin_may_be_in_the_variable_too(make, monkeypatch):
    folder = make(
        "xling_own_d", "from fairseq_xling.engine.extensions import load_plugins as load\nload()"
    )
    monkeypatch.setenv(VARIABLE, str(folder))
    load_plugins()
    assert extensions._loaded == ["xling_own_d"]


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import no_such_module_at_all", "2: ModuleNotFoundError: No module named 'no_such_"),
        ("\n1 / 0", "3: ZeroDivisionError: division by zero"),
        ("def f(:", "2: SyntaxError: invalid syntax"),
        ("raise SystemExit('fairseq-xling: error: no')", "2: no"),
    ],
)
def test_a_failing_import_is_one_line_with_its_place_each_time(code, cause, make, capsys):
    folder = make("xling_own_e", code)
    for _ in range(2):
        line = said(capsys, "--user-dir", str(folder), "user-dir")
        start = f"`--user-dir` {folder}: its import fails at {folder}/__init__.py:{cause}"
        assert line.startswith(start)


@pytest.mark.parametrize(
    ("registry", "base", "body", "rule"),
    [
        ("verbs.measures:MEASURES", "", "rum = options = 1", "must have `run`; did you mean"),
        ("verbs.units:units", "", "add_arguments = 1", "must have `options`"),
        ("objectives:objectives", "data.example:Objective", "name = 'x'", "`reads`, `__call__`"),
        (
            "models.auxiliary:auxiliary_heads",
            "models.auxiliary:AuxiliaryHead",
            "x = 1",
            "`forward`",
        ),
        ("tasks.heads:heads", "tasks.heads:Head", "help = 'x'", "must have `format`, `metric`, `c"),
    ],
)
def test_a_component_that_lacks_a_part_is_one_line(registry, base, body, rule, make, capsys):
    names = [one.split(":") for one in (registry, base or registry)]
    code = "".join(f"from fairseq_xling.{module} import {name}\n" for module, name in names)
    parent = names[1][1] if base else "object"
    code += f"@{names[0][1]}.register('xling_own_part')\nclass Part({parent}):\n    {body}\n"
    folder = make("xling_own_part", code)
    assert rule in said(capsys, "--user-dir", str(folder), "user-dir")


def test_what_is_no_such_folder_is_one_line(make, tmp_path, capsys, monkeypatch):
    (tmp_path / "xling_own_f").mkdir()
    file = make("xling_own_g") / "__init__.py"
    there = make("json") / "__init__.py"
    rules = {
        tmp_path / "nope": "no such folder",
        tmp_path / "xling_own_f": "must have an `__init__.py`, which registers what is in it",
        file: "must be a folder with an `__init__.py`, got a file",
        there.parent: "json/__init__.py has the same name, 'json'; rename the folder",
        make("xling_own.x"): "its name is that of a module and must not have a dot",
    }
    for folder, rule in rules.items():
        line = said(capsys, "user-dir", f"--user-dir={folder}")
        assert line.startswith(f"`--user-dir` {folder}: ") and line.endswith(rule)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nope"))
    assert said(capsys, "user-dir") == f"`{VARIABLE}` {tmp_path}/nope: no such folder"
    assert imports(tmp_path) == []


def test_two_folders_of_one_name_are_one_line(make, capsys):
    first, second = make("one/xling_own_h"), make("two/xling_own_h")
    line = said(capsys, "--user-dir", str(first), "user-dir", "--user-dir", str(second))
    assert line == (
        f"`--user-dir` {second}: {first}/__init__.py has the same name, 'xling_own_h'; rename the "
        "folder"
    )


@pytest.mark.parametrize("argv", [["--user-dir"], ["user-dir", "--user-dir", "--help"]])
def test_an_option_without_a_folder_is_one_line(argv, capsys):
    assert said(capsys, *argv).startswith("`--user-dir` must be a folder, got ")


def test_a_verb_of_a_folder_is_listed_and_runs(make, capsys):
    folder = make("xling_own_i", own_words=VERB)
    with pytest.raises(SystemExit):
        main(["--user-dir", str(folder), "--help"])
    listed = capsys.readouterr().out.partition("\nYour own:\n")[2]
    assert listed.startswith("  own-words        Print the words of the command")
    assert main(["own-words", "--loud", "--user-dir", str(folder)]) == 0
    # A step of a run names the folder wherever it is carried out.
    assert capsys.readouterr().out == f"{['--user-dir', str(folder), 'own-words', '--loud']}\n"


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("eval", VERB, "verb 'eval' is also "),
        ("broken", "def f(:", "its import fails at "),
        ("idle", VERB.replace("run(", "rum("), "a verb must have `run`; did you mean 'rum'?"),
        ("late", '"""Late."""\nimport no_such_module_at_all', "its import fails at "),
    ],
)
def test_a_verb_that_cannot_be_is_one_line(name, text, rule, make, capsys):
    folder = make("xling_own_j", **{name: text})
    line = said(capsys, "--user-dir", str(folder), name)
    assert line.startswith(f"{folder}/verbs/{name}.py: {rule}")


def test_an_installed_plugin_is_imported_but_for_help(install, tmp_path, capsys):
    install("xling_own_k", own_words=VERB)
    for argv in (["--help"], ["--version"], ["user-dir", "--help"]):
        with pytest.raises(SystemExit):
            main(argv)
    assert imports(tmp_path) == []
    assert main(["user-dir"]) == main(["own-words"]) == 0
    assert imports(tmp_path) == ["xling_own_k"]
    assert capsys.readouterr().out.endswith("['own-words']\n")


def test_an_installed_plugin_that_fails_is_one_line_with_its_package(install, capsys):
    install("xling_own_l", "1 / 0")
    assert said(capsys, "user-dir") == (
        "plug-in 'mine' of the installed package 'xling_own_l-tools': its import fails: "
        "ZeroDivisionError: division by zero"
    )


def test_without_plugins_a_verb_asks_for_no_metadata_of_packages(monkeypatch, capsys):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("asked"))
    assert main(["user-dir"]) == 0


def test_a_path_that_the_variable_cannot_hold_is_refused(make):
    folder = make("a:b/xling_own_m")
    with pytest.raises(UserError, match="`load_plugins` must not contain ':', got "):
        load_plugins(folder)


def test_a_folder_that_only_registers_this_package_is_not_imported(tmp_path):
    place = tmp_path / "xling_own_link"
    place.symlink_to(fairseq_xling.USER_DIR)
    load_plugins(place)
    assert "xling_own_link" not in sys.modules and extensions._loaded == []


def test_a_copy_of_this_packages_folder_with_a_verb_is_imported(tmp_path):
    place = tmp_path / "xling_own_copy"
    shutil.copytree(fairseq_xling.USER_DIR, place)
    (place / "verbs").mkdir()
    (place / "verbs" / "hello.py").write_text(VERB)
    load_plugins(place)
    assert extensions.verb_packages() == ["xling_own_copy.verbs"]
