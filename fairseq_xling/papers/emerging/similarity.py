"""Encoders of two languages compared layer by layer: retrieval, linear CKA, word translation.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section 5 and
Figure 7. The first side, X, is mapped into the space of the second, Y; for an orthogonal map with
cosines the direction makes no difference.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.dictionary import dictionary_path, read_dictionary
from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.options import option, reads
from fairseq_xling.core.texts import read_lines, read_sentences
from fairseq_xling.papers.emerging.encoders import (
    ROWS,
    EncoderKind,
    EncoderOptions,
    Models,
    Pair,
    Side,
    check_encoders,
    chosen_names,
)
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, arranged, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.encoder_training import PAPER, StudyText, counted
from fairseq_xling.workflow.options import jobs_option
from fairseq_xling.workflow.recipe import THEN, Cell, Study
from fairseq_xling.workflow.settled import device_option, precision_option

SPLITS = ("valid", "test")  # of parallel text: maps are fitted on one, measured on the other
WORDS = {"bli": "types", "static": "static"}  # measures of a dictionary, and units of states
MEASURES = ("retrieval", "cka", *WORDS)


@dataclasses.dataclass(frozen=True)
class _Compared(StudyText):
    """What is compared, on which text."""

    languages: str = option("en,de", "the first is compared with each of the others")
    rows: str = option(
        "bilingual,sep-emb,mapped,unmapped,random", f"encoders to compare: {', '.join(ROWS)}"
    )
    same: bool = option(True, "also compare two encoders of the first language, with other seeds")
    paraphrase: str = reads(
        "",
        "valid=FILE,test=FILE, paraphrases (such as back-translations) of the first language's "
        "sentences in data-text/parallel, line by line; what the second of its two encoders reads "
        "(default: the same sentences)",
    )
    measures: str = option(",".join(MEASURES), "what to measure")
    dictionary: str = reads("", "TSV or folder of them, to be split (default: that of data-text)")
    dictionary_train: str = reads("", "entries that maps are fitted on, instead of a split")
    dictionary_test: str = reads("", "entries that are scored, instead of a split")
    test_share: float = option(0.5, "share of the dictionary's source words that are scored")
    split_seed: int = option(1, "seed of the dictionary's split", least=0)


@dataclasses.dataclass(frozen=True)
class Options(EncoderOptions, _Compared):
    """One sentence of help per field; lists are comma-separated text."""

    equal: str = option(
        "steps",
        "what is equal for all encoders trained here: steps, or text per language, so that one "
        "of two languages has twice the steps",
        choices=("steps", "text"),
    )
    method: str = option("procrustes", "method of fitting maps, as in `fairseq-xling map`")
    normalize: str = option("iterative", "normalisation before a map, as in `fairseq-xling map`")
    compare_layers: str = option("all", "layers to compare, such as 0,2-4")
    contexts: int = option(
        5000, "training sentences used as contexts of the dictionary's words; 0 is all", least=0
    )
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = jobs_option()

    @property
    def measure_list(self) -> list[str]:
        return chosen_names("measures", self.measures, MEASURES)

    @property
    def paraphrases(self) -> dict[str, Path]:
        """The files of paraphrases by split, or none."""
        parts = [part.partition("=") for part in self.paraphrase.split(",") if part]
        found = {split: Path(path) for split, _, path in parts if path}
        if parts and (sorted(found) != sorted(SPLITS) or len(parts) > len(SPLITS)):
            raise UserError(f"`--paraphrase` must be valid=FILE,test=FILE, got {self.paraphrase!r}")
        return found

    def dictionaries(self, target: str) -> list[Path]:
        """One file that is to be split, or the two parts."""
        given = [self.dictionary_train, self.dictionary_test]
        if not any(given):
            given = [self.dictionary or str(Path(self.data_text) / "dictionary")]
        return [dictionary_path(path, self.language_list[0], target) for path in given]


# Conneau et al. (2020), Section 5 and Figure 7, with encoders as in Section 3.1.
PRESETS = {"paper": {**PAPER, "languages": "en,fr,de,ru,zh", "contexts": 500_000}}

# For each panel of a figure: the measure, and the curve in its results.
PANELS = {
    "retrieval P@1": ("retrieval", "cosine mean"),
    "CKA": ("cka", "CKA"),
    "BLI P@1": ("bli", "P@1 cosine"),
    "BLI MRR": ("bli", "MRR cosine"),
}
# Raw embeddings have no other layer. CSLS, the paper's criterion (Figure 4), stands next to the
# nearest neighbour by cosine.
_CURVES = {
    **PANELS,
    "static P@1": ("static", "P@1 cosine"),
    "BLI P@1 (CSLS)": ("bli", "P@1 csls"),
    "static P@1 (CSLS)": ("static", "P@1 csls"),
}
PEARSON = "Pearson"
LAYER = "layer (0: embeddings)"
# What the table's step leaves, of studies with a figure for each pair.
FILES = ("table.md", "table.csv", RESULTS, "report.html", "plot-{pair}.svg")
_EQUAL = {
    "steps": "Every encoder trained here has the same number of steps; a bilingual one divides "
    "them between its languages.",
    "text": "A language has the same number of steps in every encoder trained here: a bilingual "
    "one has twice as many.",
}
_SAME = (
    "A pair LANG-LANG_2 is one language twice: independently trained, the encoder of a seed and "
    "that of the next; jointly trained, one model without the information that the words are the "
    "same."
)
_PARAPHRASE = "The second side of LANG-LANG_2 reads paraphrases of the first side's sentences."


@STUDIES.register("similarity")
class Similarity(Study):
    """Retrieval, CKA and word translation of bilingual, monolingual and random encoders: curves by
    layer, a figure for each pair, and the table of their means."""

    name, paper, options, presets = "similarity", "emerging", Options, PRESETS
    help = (
        "similarity of encoders of two languages, trained jointly or independently: section 5 and "
        "Figure 7 of Emerging Cross-lingual Structure"
    )
    title = "Encoders trained jointly and independently, layer by layer"
    source = "Emerging Cross-lingual Structure (Conneau et al., 2020), section 5 and Figure 7"
    lead = "How similar encoders of two languages are, by retrieval and by linear CKA."
    files, run_type = FILES, Models

    def check(self, o: Options) -> Options:
        from fairseq_xling.mapping.steps import parse_elements

        o = counted(o)
        check_encoders(o)
        source, *targets = o.language_list
        if o.layers < 2:
            raise UserError(f"`--layers` must be at least 2 to correlate, got {o.layers}")
        if not 0 < o.test_share < 1:
            raise UserError(f"`--test-share` must lie between 0 and 1, got {o.test_share}")
        if bool(o.dictionary_train) != bool(o.dictionary_test):
            raise UserError("`--dictionary-train` and `--dictionary-test` must be given together")
        parse_elements(o.normalize)
        if not o.encoder:  # an existing one may be deeper
            parse_layers(o.compare_layers, o.layers, "--compare-layers")
        if o.same and source in o.ready:
            raise UserError(
                f"`--same` compares two encoders trained here, not the existing one of {source!r}; "
                "use `--same false`"
            )
        if o.paraphrases and not o.same:
            raise UserError("`--paraphrase` needs `--same true`: it is for one language twice")
        for target in targets if {*WORDS} & {*o.measure_list} else ():
            for path in o.dictionaries(target):
                read_dictionary(path)
        for split, path in o.paraphrases.items():
            text = o.text(f"parallel/{split}.{source}-{targets[0]}.{source}")
            lines, wanted = (sum(1 for _ in read_sentences(each)) for each in (path, text))
            if lines != wanted:
                raise UserError(f"{path}: must have the {wanted} lines of {text}, got {lines}")
        return o

    def plan(self, run: Models, o: Options) -> None:
        source, *targets = o.language_list
        pairs = [Pair(source, target) for target in [*targets, *([source] if o.same else [])]]
        names, correlated = chosen_names("rows", o.rows, ROWS), []
        for pair, name in itertools.product(pairs, names):
            row, measures = ROWS[name], o.measure_list
            if not row.fits(pair):
                continue
            about = {"row": name, "title": row.title, "pair": pair.name}
            own = []
            # Encoders that were given are the same for every seed.
            sides = {row.sides(run, pair, seed): seed for seed in o.seed_list}
            for (x, y), seed in sides.items():
                files = _measures(run, o, name, row, pair, x, y)
                own.append(run.measured(files, **about, seed=seed))
            if {"cka", "retrieval"} <= {*measures} and not row.words:
                correlation = run(
                    f"correlation-{name}-{pair.name}",
                    "fairseq-xling eval correlate",
                    *(cell.files[what] for cell in own for what in ("cka", "retrieval")),
                    "--output {out}",
                    to="results/{name}.json",
                    also=["results/{name}.csv"],
                )
                correlated.append((correlation, {**about, "seed": list(sides.values())}))
        for correlation, of in correlated:
            run.measured({"correlation": correlation}, **of)

    def read(self, cell: Cell) -> Iterator[Row]:
        if "correlation" in cell.files:
            found = read_record(cell.files["correlation"]).rows
            pairs = [pair for pair in distinct(found, "pair") if pair != "all"]
            for seed, pair in zip(cell.about["seed"], pairs, strict=False):
                # None, if a measure is the same at all layers
                for one in select(found, {"pair": pair, "measure": PEARSON}):
                    yield {"seed": seed, "measure": PEARSON, "value": one["value"]}
            return
        for name, (what, curve) in _CURVES.items():
            if what in cell.files:
                found = read_record(cell.files[what]).rows
                for one in select(found, {"measure": curve, "layer": GIVEN}):
                    # an MRR by chance is another than the P@1 that the results have
                    chance = None if "MRR" in name else one.get("chance")
                    own = {"measure": name, "chance": chance}
                    yield {**own, "layer": one["layer"], "value": one["value"]}

    def arrange(self, rows: list[Row]) -> list[Row]:
        return arranged(rows, "row", "pair", "measure")

    def sections(self, rows: Sequence[Row], o: Options) -> Iterator[Section]:
        found = distinct(rows, "measure")
        order = [name for name in (*_CURVES, PEARSON) if name in found]
        table = Table({"encoders": "title", "pair": "pair"}, order=order)
        notes = [
            "Means over the layers compared, with the standard deviation over seeds; every layer "
            "is in `table.csv` and the figures. Static: rows of the embedding matrices, one layer.",
            "Retrieval and CKA on the test part of the parallel text, maps for sentences fitted on "
            f"its valid part ({o.method}, rows normalised by {o.normalize}); maps for words fitted "
            "on the training entries of the dictionary, words scored on the others (BLI), among "
            "all target words of the dictionary.",
            "Pearson: of CKA with retrieval over the layers, for each seed.",
            f"{_EQUAL[o.equal]} Encoders of two languages start from different weights.",
            *([_SAME] if o.same else []),
            *([_PARAPHRASE] if o.paraphrase else []),
        ]
        yield Section("Means over layers", table, notes=notes, name="table")
        chart = Chart("curve", {"measure": list(PANELS)}, xlabel=LAYER, chance="chance")
        yield from by_pair(chart, rows)


def by_pair(chart: Chart, rows: Sequence[Row]) -> Iterator[Section]:
    """The figure by layer of each pair; a row looks alike in all of them."""
    given = {"row": "title", "title": "{pair}", "rows": distinct(rows, "title")}
    for pair in distinct(rows, "pair"):
        own = dataclasses.replace(chart, where={**chart.where, "pair": pair}, **given)
        chances = ", ".join(
            distinct(select(rows, {**own.where, "chance": GIVEN}), "{measure} {chance}")
        )
        notes = [f"Chance: {chances}"] if chances else []
        yield Section(f"By layer, {pair}", chart=own, notes=notes, name=f"plot-{pair}")


def _measures(
    run: Models, o: Options, name: str, row: EncoderKind, pair: Pair, x: Side, y: Side
) -> dict[str, Path]:
    """Every measure of two encoders."""
    ends = "-".join(dict.fromkeys([x.name, y.name]))  # the same, mapped or not
    found = {}
    for what in o.measure_list:
        if what in WORDS:
            lexicon = _lexicon(run, o)
            states = [
                _types(run, o, side, WORDS[what], lexicon / f"words.{side.lang}.txt")
                for side in (x, y)
            ]
            train, test = (lexicon / pair.name / f"{part}.tsv" for part in ("train", "test"))
            learnt = [*states, "--pairs dictionary", train] if row.mapped else []
            tested = ["bli", *states, "--dictionary", test]
        elif row.words:
            continue
        else:
            verb = "tatoeba" if what == "retrieval" else what
            learnt = []
            if row.mapped and what == "retrieval":
                learnt = [*_sentences(run, o, pair, "valid", x, y), "--pairs rows"]
            tested = [verb, *_sentences(run, o, pair, "test", x, y)]
        fit = ["fairseq-xling map", [o.method], *learnt, "--normalize", [o.normalize]]
        also = ["results/{name}.csv"]
        if learnt:
            also += ["maps/{name}.safetensors", "maps/{name}.safetensors.json"]
        found[what] = run(
            f"cka-{ends}" if what == "cka" else f"{what}-{name}-{ends}",
            *([*fit, "--output {out2}", THEN] if learnt else []),
            "fairseq-xling eval",
            *tested,
            "--map {out2}" if learnt else "",
            "--output {out}",
            to="results/{name}.json",
            also=also,
        )
    return found


def _sentences(run: Models, o: Options, pair: Pair, split: str, x: Side, y: Side) -> Iterator[Path]:
    """The states of both sides of the parallel text; of one language twice, the first pair's, and
    the second side has its paraphrases if there are any."""
    of = f"{pair.source}-{o.language_list[1] if pair.same else pair.target}"
    for side, own in ((x, {}), (y, o.paraphrases if pair.same else {})):
        what = f"{split}-{'paraphrase' if own else of}"
        text = own[split] if own else o.text(f"parallel/{split}.{of}.{side.lang}")
        yield run.states(side, what, text, "sentences", o.compare_layers)


def _types(run: Models, o: Options, side: Side, unit: str, words: Path) -> Path:
    """The vectors of ``words``, of their contexts (``types``) or of none (``static``)."""
    text = o.text(f"mono/train.{side.lang}")
    if side.of:  # fastText vectors of those that the encoder has a vector for, too
        words = _types(run, o, side.of, unit, words) / "words.txt"
        return run(
            f"embed-{side.name}-{unit}",
            "fairseq-xling embed words",
            *(side.data, "--lang", [side.code], "--text", text, "--words", words),
            *("--output {out} --min-count 1 --threads 1 --seed", side.seed),
            to=f"states/{side.name}.{side.code}/{unit}",
        )
    if o.contexts:
        values = {"texts": [text], "outputs": ["{out}"], "count": o.contexts}
        to = f"text/contexts.{side.lang}.txt"
        text = run.function(f"contexts-{side.lang}", write_heads, values=values, to=to)
    layers = "0" if unit == "static" else o.compare_layers
    return run.states(side, unit, text, unit, layers, "--words", words)


def _lexicon(run: Models, o: Options) -> Path:
    source, *targets = o.language_list
    values = {"folder": "{out}", "source": source, "share": o.test_share, "seed": o.split_seed}
    values |= {"same": o.same, "files": {target: o.dictionaries(target) for target in targets}}
    return run.function("lexicon", write_lexicon, values=values, to="lexicon")


Entries = list[tuple[str, str]]


def split_entries(entries: Entries, share: float, seed: int) -> tuple[Entries, Entries]:
    """Entries to fit maps on, and those of a ``share`` of the source words to score; all of a word
    are on one side, and at least one word is on each.

    >>> train, test = split_entries([("a", "x"), ("a", "y"), ("b", "z")], 0.5, 1)
    >>> len({word for word, _ in train}), len({word for word, _ in test})
    (1, 1)
    """
    words = list(dict.fromkeys(word for word, _ in entries))
    if len(words) < 2:
        raise UserError(f"a dictionary to split needs 2 source words, got {len(words)}")
    count = min(max(1, round(share * len(words))), len(words) - 1)
    order = np.random.default_rng(seed).permutation(len(words))
    held = {words[n] for n in order[:count]}
    train = [entry for entry in entries if entry[0] not in held]
    return train, [entry for entry in entries if entry[0] in held]


def write_lexicon(
    folder: str,
    source: str,
    files: Mapping[str, Sequence[str]],
    share: float,
    seed: int,
    same: bool,
) -> None:
    """``PAIR/train.tsv``, ``PAIR/test.tsv`` and ``words.LANG.txt`` in ``folder``, of a dictionary
    or its two parts for each target language; ``same``: also of the source language with itself,
    where a word translates itself."""
    parts: dict[str, tuple[Entries, Entries]] = {}
    words: dict[str, dict[str, None]] = {source: {}}
    for target, paths in files.items():
        found = [read_dictionary(Path(path)) for path in paths]
        train, test = found if len(found) == 2 else split_entries(found[0], share, seed)
        parts[Pair(source, target).name] = train, test
        for a, b in (*train, *test):
            words[source][a] = None
            words.setdefault(target, {})[b] = None
    if same:
        alike = [(word, word) for word in words[source]]
        parts[Pair(source, source).name] = split_entries(alike, share, seed)
    for pair, both in parts.items():
        for name, entries in zip(("train", "test"), both, strict=True):
            _write(Path(folder) / pair / f"{name}.tsv", (f"{a}\t{b}" for a, b in entries))
    for lang, own in words.items():
        _write(Path(folder) / f"words.{lang}.txt", own)


def write_heads(texts: Sequence[str], outputs: Sequence[str], count: int) -> None:
    """The first ``count`` lines of each text."""
    for text, output in zip(texts, outputs, strict=True):
        _write(Path(output), itertools.islice(read_lines(text), count))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)
