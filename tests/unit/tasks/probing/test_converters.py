"""Each converter: a file written by hand in, exact rows out, and the line of what is damaged."""

import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.probing.converters import convert, converters
from fairseq_xling.tasks.probing.examples import read_examples


def conll09(*rows):
    """Rows of form, FILLPRED and APREDs as a sentence."""
    return "".join(
        "\t".join([str(n), form, *"_" * 10, fill, "x.01" if fill == "Y" else "_", *roles]) + "\n"
        for n, (form, fill, *roles) in enumerate(rows, start=1)
    )


def conll12(*rows):
    """Rows of word and coreference as a sentence."""
    return "".join(
        f"nw/a 0 {n} {word} X * - - - - * {last}\n" for n, (word, last) in enumerate(rows)
    )


SPR = "response\ttext\tpredicate\targument\tproperty\n"
SEMEVAL = '1\t"The <e1>engine</e1> of the <e2>old car</e2>, failed."\nPart-Whole(e1,e2)\nComment:\n'
STRUCTURE = {
    "words": ["Ana", "met", "New York"],
    "entities": [{"span": [0, 1], "type": "PER"}, {"span": [2, 3], "type": "LOC"}],
    "relations": [{"from": 1, "to": 0, "label": "has"}],
}

# Of each task: the name and the text of a file, and its rows.
ROWS = {
    "consts": (
        "a.mrg",
        "( (S (NP-SBJ-1 (DT The) (NN cat))\n   (VP (VBZ sits) "
        "(S (NP (-NONE- *-1)) (VP (-LRB- -LRB-)))) (. .)) )\n"
        "(TOP (S (VP (VB Go))))\n(NP=2 (NN home))",
        [
            (
                "The cat sits ( .",
                [
                    {"span1": [0, 5], "label": "S"},
                    {"span1": [0, 2], "label": "NP"},
                    {"span1": [2, 4], "label": "VP"},
                    {"span1": [3, 4], "label": ["S", "VP"]},
                ],
            ),
            ("Go", [{"span1": [0, 1], "label": ["S", "VP"]}]),
            ("home", [{"span1": [0, 1], "label": "NP"}]),
        ],
    ),
    "srl": (
        "a.conll09",
        conll09(("It", "_", "A1", "_"), ("1 0", "Y", "_", "AM"), ("ran", "Y", "A0", "A0"))
        + "\n"
        + conll09(("Rain", "_")),
        [
            (
                "It 10 ran",
                [
                    {"span1": [1, 2], "span2": [0, 1], "label": "A1"},
                    {"span1": [1, 2], "span2": [2, 3], "label": "A0"},
                    {"span1": [2, 3], "span2": [1, 2], "label": "AM"},
                    {"span1": [2, 3], "span2": [2, 3], "label": "A0"},
                ],
            )
        ],
    ),
    "coref": (
        "a.v4_gold_conll",
        "#begin document (a); part 000\n"
        + conll12(("Ann", "(0)"), ("and", "-"), ("her", "(1|(0)"), ("dog", "1)"))
        + "\n"
        + conll12(("Rain", "-"))
        + "\n#end document\n",
        [
            (
                "Ann and her dog",
                [
                    {"span1": [0, 1], "span2": [2, 3], "label": "coreferent"},
                    {"span1": [0, 1], "span2": [2, 4], "label": []},
                    {"span1": [2, 3], "span2": [2, 4], "label": []},
                ],
            )
        ],
    ),
    "spr": (
        "a.tsv",
        SPR
        + "5\tThe dog ate it\t2\t0:2\tvolition\n"
        + "3\tThe dog ate it\t2\t0:2\tchange\n"
        + "4\tThe dog ate it\t2\t0:2\tsentient\n"
        + "NA\tThe dog ate it\t2\t3\tvolition\n"
        + "4\tIt ran\t1\t0\tvolition\n",
        [
            (
                "The dog ate it",
                [
                    {"span1": [2, 3], "span2": [0, 2], "label": ["volition", "sentient"]},
                    {"span1": [2, 3], "span2": [3, 4], "label": []},
                ],
            ),
            ("It ran", [{"span1": [1, 2], "span2": [0, 1], "label": ["volition"]}]),
        ],
    ),
    "relations": (
        "TRAIN_FILE.TXT",
        f'{SEMEVAL}\n2\t"<e1>rain</e1> and <e2>snow</e2>"\nOther\n',
        [
            (
                "The engine of the old car , failed.",
                [{"span1": [1, 2], "span2": [4, 6], "label": "Part-Whole(e1,e2)"}],
            ),
            ("rain and snow", [{"span1": [0, 1], "span2": [2, 3], "label": "Other"}]),
        ],
    ),
    "relations of structures": (
        "a.jsonl",
        json.dumps(STRUCTURE) + "\n",
        [
            (
                "Ana met NewYork",
                [
                    {"span1": [0, 1], "span2": [2, 3], "label": []},
                    {"span1": [2, 3], "span2": [0, 1], "label": "has"},
                ],
            )
        ],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_file_written_by_hand_gives_exactly_its_rows(name, tmp_path):
    file, content, expected = ROWS[name]
    (tmp_path / file).write_text(content, encoding="utf-8")
    output = tmp_path / "rows.jsonl"
    counts = convert(tmp_path / file, output, name.split()[0], {})
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert rows == [{"text": text, "targets": targets} for text, targets in expected]
    assert counts == (len(expected), sum(len(targets) for _, targets in expected))
    assert len(read_examples(output)) == counts[1]  # the probe reads them


def test_every_task_of_edge_probing_has_a_converter():
    known = ["consts", "coref", "deps", "entities", "pos", "relations", "spr", "srl"]
    assert list(converters) == known


BAD = [
    ("consts", "f", "(S (NN a)\n", ":1: the bracket is not closed"),
    ("consts", "f", "(S (NN a)))\n", ":1: a closing bracket must have an opening one"),
    ("consts", "f", "(S (NN a))\nb\n", ":2: a tree must begin with a bracket, got 'b'"),
    ("consts", "f", "(S\n(NP))\n", ":2: a bracket must have words, got none"),
    ("consts", "f", "(S a (NN b))\n", ":1: a word and a bracket must not be in one bracket"),
    ("consts", "f", "(S (NN a b))\n", ":1: a bracket must have a type and then brackets or one w"),
    ("consts", "f", "(S (NN a))\n" + 1001 * "(", ":2: must be at most 1000 open brackets in a"),
    ("consts", "f", "", ": contains nothing for the task 'consts'"),
    (
        "entities",
        "f.conllu",
        "1\tBonn\t_\tPROPN\t_\t_\t0\troot\t_\tEntity=(e1-place)\n\n",
        r":1: the tag must be O, B-TYPE or I-TYPE, got '\(e1-place\)'",
    ),
    ("srl", "f", conll09(("ran", "Y")), ":1: the sentence has no frames"),
    ("coref", "f", "a b\n", ":1: must have at least 12 columns, got 2"),
    ("coref", "f", conll12(("a", "-"), ("b", "0)")), ":2: a mention of 0 ends that did not begin"),
    ("coref", "f", conll12(("a", "(0")) + "\n", ":1: the mention of 0 does not end"),
    ("coref", "f", conll12(("a", "(x)")), r":1: a mention must look like \(1, 1\) or \(1\), got"),
    ("spr", "f", "text\tpredicate\n", ":1: argument: no such heading; the file has text, predicat"),
    ("spr", "f", SPR + "1\ta\t0\n", ":2: must have 5 columns like the first, got 3"),
    ("spr", "f", SPR + "1\ta b\t2\t0\tx\n", ":2: a span must be a or a:b with 0 <= a < b <= 2, go"),
    ("relations", "f", '1\t"<e1>a</e1> b"\nOther\n', ":1: must have the marks <e1> </e1> and <e2>"),
    ("relations", "f", SEMEVAL + "x\n", ":1: must be a text, a relation and perhaps a comment, g"),
    ("relations", "f", '1\t"<e1>a</e1> <e2></e2>"\nOther\n', ":1: a mention must have words, got"),
    ("relations", "f.jsonl", '{"words": ["a"], "entities": [{}]}\n', ":1: `entities` 0: has no `s"),
]


@pytest.mark.parametrize(("task", "name", "content", "message"), BAD)
def test_what_is_damaged_is_named_with_its_line(task, name, content, message, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=f"{name}{message}") as error:
        convert(tmp_path / name, tmp_path / "out", task, {})
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


@pytest.mark.parametrize("task", ["consts", "srl", "coref", "spr", "relations"])
def test_columns_are_not_to_be_chosen_where_they_are_fixed(task, tmp_path):
    (tmp_path / "f").write_text("(S (NN a))\n")
    with pytest.raises(UserError, match="`--columns` must be empty"):
        convert(tmp_path / "f", tmp_path / "out", task, {"token": "1"})


TREES = """\
# text = It rains in New York
1\tIt\tit\tPRON\t_\t_\t2\texpl\t_\tConcept=x
2\trains\train\tVERB\t_\t_\t0\troot\t_\t_
3\tin\tin\tADP\t_\t_\t5\tcase\t_\t_
4\tNew\tNew\tPROPN\t_\t_\t5\tcompound\t_\tEntity=B-LOC|SpaceAfter=No
5\tYork\tYork\tPROPN\t_\t_\t2\tobl\t_\tEntity=I-LOC

1\t10 000\t10000\tNUM\t_\t_\t0\troot\t_\t_

"""
TAGS = "Ann\tB-PER\nsaw\tO\nBob\tB-PER\n\nNobody\tO\n\n"


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(TREES, encoding="utf-8")
    return path


def made(source, tmp_path, task, columns=None):
    output = tmp_path / "out.jsonl"
    counts = convert(source, output, task, columns or {})
    found = [
        [" ".join(one.text.split()[a:b]) for a, b in one.spans] + list(one.labels)
        for one in read_examples(output)
    ]
    assert counts == (len(output.read_text().splitlines()), len(found))
    return found


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        # A token holds no white space.
        ("pos", "It PRON, rains VERB, in ADP, New PROPN, York PROPN, 10000 NUM"),
        ("deps", "It rains expl, in York case, New York compound, York rains obl"),  # no root
        ("entities", "New York LOC"),
    ],
)
def test_words_trees_and_entities_of_a_treebank(trees, tmp_path, task, expected):
    assert ", ".join(" ".join(target) for target in made(trees, tmp_path, task)) == expected


def test_entities_and_tags_of_a_tagged_file(tmp_path):
    tagged = tmp_path / "a.tsv"
    tagged.write_text(TAGS)
    assert made(tagged, tmp_path, "entities") == [["Ann", "PER"], ["Bob", "PER"]]
    assert made(tagged, tmp_path, "pos", {"token": "0", "tag": "1"})[3] == ["Nobody", "O"]


def test_what_a_file_has_not_is_said(trees, tmp_path):
    for task, message in (
        ("tense", "unknown `--task` 'tense'"),
        ("deps", "the sentence has no tree"),
    ):
        tagged = tmp_path / "a.tsv"
        tagged.write_text(TAGS)
        with pytest.raises(UserError, match=message):
            convert(tagged, tmp_path / "out", task, {})
    (tmp_path / "b.tsv").write_text("Nobody\tO\n\n")
    with pytest.raises(UserError, match=r"b\.tsv: contains nothing for the task 'entities'"):
        convert(tmp_path / "b.tsv", tmp_path / "out", "entities", {})
    assert not (tmp_path / "out").exists()
