"""Sentence retrieval at every layer (Conneau et al. 2020, section 5.1.3), without a map."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import option
from fairseq_xling.core.texts import read_sentences
from fairseq_xling.verbs.measures import MEASURES, Findings, Measure, by_layer, curves

if TYPE_CHECKING:
    import numpy as np


@dataclasses.dataclass(frozen=True)
class Options:
    retrieval_split: str = option(
        "test", "parallel split of the data folder to search in", metavar="SPLIT"
    )
    retrieval_text: tuple[str, ...] | None = option(
        None,
        "search in these two text files instead, which translate each other line by line; the "
        "languages are --source and the single one of --targets",
        metavar=(Input("SOURCE"), Input("TARGET")),
        words=2,
    )
    retrieval_limit: int = option(0, "use only the first N sentence pairs; 0 = all", least=0)
    retrieval_unknown: bool = option(
        False, "count <unk> as a subword of a sentence (default: it is left out of the mean)"
    )


@MEASURES.register("retrieval")
class Retrieval(Measure):
    """P@1 of nearest neighbours by cosine, per layer, in both directions."""

    options = Options

    def run(self, subject: Subject, options: Options) -> Findings:
        from fairseq_xling.analysis.ranks import right_answers
        from fairseq_xling.analysis.retrieval import collect_vectors, retrieval_accuracy

        if options.retrieval_text and len(subject.targets) != 1:
            names = ",".join(subject.targets)
            raise UserError(f"`--retrieval-text` needs one language in `--targets`, got {names}")
        where = "two files" if options.retrieval_text else f"{options.retrieval_split!r} split"
        found = Findings(
            title=f"Sentence retrieval, P@1 by cosine ({where})",
            rows=[],
            table=by_layer(
                {"chance": "chance", "sentences": "sentences"}, "forward", "backward", "mean"
            ),
            chart=curves("sentence P@1 (share), {measure}", "mean"),
            notes=[
                "layer 0 is the embedding output; a tie counts as wrong; the best layer is chosen "
                "by the mean of both directions on the same sentences"
            ],
        )
        for target in subject.targets:
            sides = _sentences(subject, target, options)
            vectors = [
                collect_vectors(
                    subject.encoder.states(side, lang, unknown=options.retrieval_unknown), len(side)
                )
                for side, lang in zip(sides, (subject.source, target), strict=True)
            ]
            texts = ([sentence.tobytes() for sentence in side] for side in sides)
            repeats, repeated = right_answers(*texts)
            if repeated:
                found.notes.append(
                    f"{subject.source} and {target}: {repeated} lines repeat another of their "
                    "side; each of equal lines is right"
                )
            accuracy = retrieval_accuracy(*vectors, repeats=repeats)
            mean, count = accuracy.mean(1), len(sides[0])
            both = {"source": subject.source, "target": target}
            about = {**both, "chance": 1 / count, "sentences": count}
            best = int(mean.argmax())
            for layer, (forward, backward) in enumerate(accuracy.tolist()):
                of = {"forward": forward, "backward": backward, "mean": float(mean[layer])}
                found.rows += [
                    {**about, "layer": layer, "measure": name, "value": value}
                    | ({"best": 1} if layer == best else {})
                    for name, value in of.items()
                ]
        return found


def _sentences(subject: Subject, target: str, options: Options) -> list[list[np.ndarray]]:
    if options.retrieval_text:
        sides = [
            _encode_file(subject, lang, path)
            for lang, path in zip((subject.source, target), options.retrieval_text, strict=True)
        ]
        if len(sides[0]) != len(sides[1]):
            names = " and ".join(options.retrieval_text)
            counts = " and ".join(str(len(side)) for side in sides)
            raise UserError(f"{names} must have equally many lines, got {counts}")
    else:
        split, pair = options.retrieval_split, {subject.source, target}
        if not any(pair == set(there) for there in subject.folder.pairs(split)):
            what = f"parallel {split!r} text of {subject.source}-{target}"
            raise UserError(
                f"{subject.folder.path}: has no {what}{subject.folder.other_splits(split)}; name "
                "two files, `--retrieval-text`, or leave it out, `--measure bpw`"
            )
        files = subject.folder.parallel(split, subject.source, target)
        sides = [[file[i] for i in range(len(file))] for file in files]
    limit = options.retrieval_limit or len(sides[0])
    if len(sides[0][:limit]) < 2:
        raise UserError(f"retrieval needs at least 2 sentence pairs, got {len(sides[0][:limit])}")
    return [side[:limit] for side in sides]


def _encode_file(subject: Subject, lang: str, path: str) -> Sequence[np.ndarray]:
    lines = list(read_sentences(path))
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            raise UserError(f"{path}:{number}: an empty line cannot be retrieved")
    return subject.text_encoder(lang).encode(lines)
