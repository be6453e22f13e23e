"""Relations: two mentions and the label of the pair.

Two forms. A file whose name ends in ``.json`` or ``.jsonl`` has the structures of `struct`; all
ordered pairs of its mentions are targets, and pairs without a relation have no label. Any other has
the form of SemEval-2010 task 8 (Hendrickx et al. 2010), whose label is a relation with its
direction, or Other:

    12<TAB>"The <e1>engine</e1> of the <e2>car</e2> failed."
    Component-Whole(e1,e2)
    Comment: ...

Words end at spaces and at the marks; the comment is left out, a blank line ends a record.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fairseq_xling.errors import UserError, shown
from fairseq_xling.json_fields import check_columns
from fairseq_xling.structures.formats import formats
from fairseq_xling.structures.formats.kbp37 import marked_sentence
from fairseq_xling.structures.sentence import Sentence
from fairseq_xling.tasks.probing.converters import Rows, converters, groups
from fairseq_xling.text.segment import segmentations

_COMMENT = "Comment"


@converters.register("relations")
def relations(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`."""
    check_columns(tuple(columns), "relation")
    structures = {".json", ".jsonl"} & set(path.suffixes)
    sentences = formats["json_lines"].read(path, "") if structures else _semeval(path)
    for one in sentences:
        labels = {(link.first, link.second): link.label for link in one.relations}
        spans = [[mention.start, mention.end] for mention in one.entities]
        pairs = one.pairs or [
            (i, j) for i in range(len(spans)) for j in range(len(spans)) if i != j
        ]
        yield (
            one.words,
            [
                {"span1": spans[i], "span2": spans[j], "label": labels.get((i, j), [])}
                for i, j in pairs
            ],
        )


def _semeval(path: Path) -> Iterator[Sentence]:
    cut = segmentations["pre"]
    for number, lines in groups(path):
        if len(lines) not in (2, 3) or not all(line.startswith(_COMMENT) for line in lines[2:]):
            raise UserError(
                f"{path}:{number}: must be a text, a relation and perhaps a comment, got "
                f"{len(lines)} lines"
            )
        sentence, whole = marked_sentence(path, number, lines[0], lines[1].strip(), cut)
        if not whole:
            raise UserError(f"{path}:{number}: a mention must have words, got {shown(lines[0])}")
        yield sentence
