"""CoNLL-U: what is read, what is written, and the line of what is damaged."""

import gzip
from pathlib import Path

import conllu
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.conllu import Conllu, Tree, tree_fault

SHARED = Path(__file__).resolve().parents[5] / "shared" / "data"
TEXT = """# sent_id = 1
# a comment\twith a tab
1-2\tzum\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tzu\tzu\tADP\t_\t_\t3\tcase\t3:case\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\tNN\t_\t0\troot\t_\t_
3.1\t_\t_\tVERB\t_\t_\t_\t_\t0:root\t_

# sent_id = 2
1\t#\t#\tSYM\t_\t_\t2\tnmod:x\t_\t_
2\t10 000\t_\tNUM\t_\t_\t0\troot\t_\t_

"""


def row(number, head, word="w", relation="x"):
    return f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"


def read(written, text):
    return list(Conllu.read(written("a.conllu", text), {}))


def test_words_trees_and_their_lines_are_read_and_the_rest_is_left_aside(written):
    first, second = read(written, TEXT)
    assert (first.words, first.line) == (("zu", "dem", "Haus"), 4)
    assert first.upos == ("ADP", "DET", "NOUN")
    assert first.tree == Tree((3, 3, 0), ("case", "det", "root"))
    assert (second.words, second.line) == (("#", "10 000"), 10)
    assert second.tree == Tree((2, 0), ("nmod:x", "root"))
    assert formats["conllu"] is Conllu


@pytest.mark.parametrize("text", [TEXT, TEXT[:-1], TEXT + "\n\n", row(1, 0)])
def test_gold_written_back_is_the_file_itself(written, text, tmp_path):
    items = read(written, text)
    Conllu.write(tmp_path / "b", items, [item.tree for item in items], {})
    assert (tmp_path / "b").read_text(encoding="utf-8") == text


def test_predictions_replace_head_and_relation_and_nothing_else(written, tmp_path):
    items = read(written, TEXT)
    trees = [Tree((0, 1, 2), ("a", "b", "c")), Tree((0, 1), ("d", "e:f"))]
    Conllu.write(tmp_path / "b", items, trees, {})
    ours, theirs = (tmp_path / "b").read_text().splitlines(), TEXT.splitlines()
    changed = [n for n, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    assert changed == [3, 4, 5, 9, 10]
    assert ours[3] == "1\tzu\tzu\tADP\t_\t_\t0\ta\t3:case\t_"
    assert ours[10] == "2\t10 000\t_\tNUM\t_\t_\t1\te:f\t_\t_"


def test_a_file_without_heads_is_read_for_prediction(written, tmp_path):
    items = read(written, row(1, "_", relation="_") + "\n" + row(1, "_") + row(2, "_"))
    assert [item.tree for item in items] == [None, None]
    Conllu.write(tmp_path / "b", items, [Tree((0,), ("r",)), Tree((2, 0), ("s", "r"))], {})
    found = [item.tree for item in Conllu.read(tmp_path / "b", {})]
    assert found == [Tree((0,), ("r",)), Tree((2, 0), ("s", "r"))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("\t_\n\n#", "\n\n#"), ":7: must have 10 columns, got 9"),
        (row(1, 0) + "\n" + row(1, "x"), ":3: HEAD must be a number from 0 to 1, got 'x'"),
        (row(1, 0) + row(2, 3), ":2: HEAD must be a number from 0 to 2, got '3'"),
        (row(1, "_") + "\n" + row(1, 0), ":3: HEAD must be _ as in the rows before, got '0'"),
        (row(1, 0, relation="_"), ":1: DEPREL must name a relation, got '_'"),
        (row(1, 0) + row(2, 0), ":2: a tree must have one root, got a second HEAD 0"),
        ("# x\n" + row(1, 2) + row(2, 1), ":2: a tree must have a root, got no HEAD 0.*"),
        (row(1, 0) + row(2, 3) + row(3, 2), ":2: HEAD must lead to the root, got a cycle"),
        (row(1, 0) + row(3, 1), ":2: ID must be 2, got '3'"),
        (row("1.1", "_") + row(1, 0), ":1: ID must be 1 or 0.1, got '1.1'"),
        (row("2-3", "_") + row(1, 0), ":1: ID must be 1 or a range .*, got '2-3'"),
        (
            row("1-2", "_") + row(1, 0) + row("2-3", "_") + row(2, 1) + row(3, 1),
            ":3: ID must be 2 or a range .*, got '2-3'",
        ),
        (row("1-2", "_") + row(1, 0), ":1: ID must end within the 1 words .*, got '1-2'"),
        (row(1, 0, word=""), ":1: the FORM is empty"),
        (row(1, 0) + "\n# none\n\n" + row(1, 0), ":3: a sentence must have words, got none"),
        ("\n\n", ": contains no sentences"),
    ],
)
def test_a_damaged_row_is_named_with_its_line(written, text, message):
    with pytest.raises(UserError, match=f"a.conllu{message}$"):
        read(written, text)


def test_a_cycle_far_from_the_first_word_is_found_in_a_long_sentence():
    heads = [0, *range(1, 2000)]
    assert tree_fault(heads) is None
    heads[1000] = 1500
    assert tree_fault(heads) == (1000, "HEAD must lead to the root, got a cycle")


@pytest.mark.parametrize("file", ["ud_en_ewt/en_ewt-ud-dev", "ud_fr_gsd/fr_gsd-ud-dev"])
def test_real_files_are_read_as_the_conllu_library_reads_them_and_written_back(file, tmp_path):
    path = SHARED / f"{file}.conllu.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not on this machine")
    items = list(Conllu.read(path, {}))
    text = gzip.decompress(path.read_bytes()).decode()
    for item, theirs in zip(items, conllu.parse(text), strict=True):
        words = [token for token in theirs if isinstance(token["id"], int)]
        assert item.words == tuple(token["form"] for token in words)
        assert item.upos == tuple(token["upos"] for token in words)
        assert item.tree.heads == tuple(token["head"] for token in words)
        assert item.tree.relations == tuple(token["deprel"] for token in words)
    Conllu.write(tmp_path / "b", items, [item.tree for item in items], {})
    assert (tmp_path / "b").read_text(encoding="utf-8") == text
