"""Word retrieval against a dictionary, at every layer (Liu et al. 2020, section 3.1.1)."""

import dataclasses

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import option
from fairseq_xling.verbs.measures import MEASURES, Findings, Measure, by_layer, curves


@dataclasses.dataclass(frozen=True)
class Options:
    dictionary: str | None = option(
        None,
        "source word, tab, target word on each line; or a folder with <source>-<target>.tsv for "
        "every pair",
        metavar=Input("TSV"),
    )
    words_split: str = option(
        "train", "monolingual split whose sentences are the words' contexts", metavar="SPLIT"
    )
    words_limit: int = option(
        5000, "use only the first N sentences of each language; 0 = all", least=0
    )
    neighbours: int = option(25, "source words to list", least=1)


NEIGHBOUR = "cosine of a near word"


@MEASURES.register("words")
class Words(Measure):
    """MRR and P@1 of a dictionary's translations among its targets, per layer."""

    options = Options

    def run(self, subject: Subject, options: Options) -> Findings:
        from fairseq_xling.analysis.dictionary import dictionary_path, read_dictionary
        from fairseq_xling.analysis.lexicon import Lexicon
        from fairseq_xling.analysis.words import chance_mrr, word_scores

        if not options.dictionary:
            raise UserError("`--measure words` needs `--dictionary` (a TSV file or a folder)")
        found = Findings(
            title=f"Word retrieval ({options.words_split!r} split)",
            rows=[],
            table=by_layer(
                {
                    "chance MRR": "chance",
                    "source words": "source words",
                    "target words": "target words",
                },
                "MRR",
                "P@1",
            ),
            chart=curves("word retrieval, {measure}", "MRR", "P@1"),
            notes=[
                "a word is the mean of its subwords, a type the mean of its occurrences; a tie "
                "counts as wrong; identical pairs are left out; the best layer is chosen by MRR"
            ],
        )
        for target in subject.targets:
            path = dictionary_path(options.dictionary, subject.source, target)
            pairs = read_dictionary(path)
            lexicon = Lexicon(subject, target, pairs, options.words_split, options.words_limit)
            if not len(lexicon.pairs):
                raise UserError(
                    f"{path}: none of its {len(pairs)} entries has both words in the "
                    f"{options.words_split!r} text of {subject.source} and {target}"
                )
            scores = [
                word_scores(s, t, lexicon.pairs)
                for s, t in zip(lexicon.source_vectors, lexicon.target_vectors, strict=True)
            ]
            sizes = len(lexicon.source_words), len(lexicon.target_words)
            chance = chance_mrr(sizes[1])
            best = max(range(len(scores)), key=lambda layer: scores[layer])
            about = {"source": subject.source, "target": target}
            about |= dict(zip(("source words", "target words"), sizes, strict=True))
            for layer, (mrr, top) in enumerate(scores):
                chosen = {"best": 1} if layer == best else {}
                found.rows += [
                    {**about, "layer": layer, "measure": name, "value": value, "chance": by_chance}
                    | chosen
                    for name, value, by_chance in (
                        ("MRR", mrr, chance),
                        ("P@1", top, 1 / sizes[1]),
                    )
                ]
            found.rows += [
                {
                    **{"source": subject.source, "target": target, "layer": best},
                    **{"measure": NEIGHBOUR, "word": one["word"], "rank": rank},
                    **{"nearest": near["word"], "value": near["cosine"]},
                    "right": "yes" if near["right"] else "no",
                }
                for one in lexicon.neighbours(best, options.neighbours)
                for rank, near in enumerate(one["nearest"], start=1)
            ]
        return found
