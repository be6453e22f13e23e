"""Learn the piece models and dictionaries of a data folder."""

from collections.abc import Mapping
from itertools import chain, islice
from pathlib import Path

from fairseq_xling.files import atomic_write, read_json, write_json
from fairseq_xling.progress import progress
from fairseq_xling.text.dictionary import collect_symbols, write_dictionary
from fairseq_xling.text.inputs import Inputs
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.sample import draw_lines, sample_quotas
from fairseq_xling.text.scan import TextFacts
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.sources import Sources
from fairseq_xling.text.tokenizers.pieces import load_pieces, ready_pieces
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.text.vocabulary_types import vocabulary_types


def learn_vocabulary(
    out: Path, work: Path, sources: Sources, inputs: Inputs, options: PrepareOptions
) -> dict[str, dict[str, float]]:
    """Write all models of pieces and ``dict*.txt``; existing models are kept.

    For a language with a tokenizer of another folder nothing is learnt: it is copied.

    Returns the share of each language in the sample of its model, by model file.
    """
    mode = modes[options.vocab]()
    kind = vocabulary_types[options.vocab_type]
    shares: dict[str, dict[str, float]] = {}
    pieces: dict[str, list[str]] = {}
    counts: dict[str, list[int]] = {}
    for name, languages in mode.groups(options.languages).items():
        facts = {lang: _facts(sources, inputs, lang) for lang in languages}
        ready = sources.tokenizers.get(languages[0])
        texts = {lang: fact for lang, fact in facts.items() if fact.sentences}
        budget = options.vocab_sample * 1e6
        quotas = sample_quotas(texts, options.vocab_alpha, budget) if texts else {}
        shares[name] = {} if ready else {lang: share for lang, (share, _) in quotas.items()}
        record = work / f"{name}.json"  # written after the model, to mark it as complete
        if not record.is_file():
            lines = _sample(sources, texts, quotas, options)
            label = "+".join(languages)
            with progress(1, f"learning vocabulary {label}", unit="model") as bar:
                if ready:
                    file, model = ready_pieces(ready, name, options.vocab_type)
                else:
                    text = list(chain(*lines.values()))
                    file, model = kind.file(name), kind.learn(text, *_sizes(options), label)
                with atomic_write(out / file) as opened:
                    opened.write(model)
                learnt = load_pieces(out / file, kind.whole_words)
                with learnt.remembering():
                    counts_of = {lang: learnt.count(lines.get(lang, ())) for lang in languages}
                write_json(
                    record,
                    {
                        "pieces": learnt.symbols,
                        "counts": {lang: found.tolist() for lang, found in counts_of.items()},
                    },
                )
                bar.update(1)
        found = read_json(record)
        for lang in languages:
            pieces[lang], counts[lang] = found["pieces"], found["counts"][lang]
    for name, symbols in collect_symbols(mode, pieces, counts).items():
        write_dictionary(out / name, symbols)
    return shares


def _sizes(options: PrepareOptions) -> tuple[int, int | None]:
    return options.vocab_size, options.alphabet


def _facts(sources: Sources, inputs: Inputs, lang: str) -> TextFacts:
    files = [inputs.facts[file] for file in sources.text_of(lang)]
    return TextFacts(
        sum(f.lines for f in files), sum(f.sentences for f in files), sum(f.bytes for f in files)
    )


def _sample(
    sources: Sources,
    facts: Mapping[str, TextFacts],
    quotas: Mapping[str, tuple[float, int]],
    options: PrepareOptions,
) -> dict[str, list[str]]:
    """Segmented lines of the sample by language."""
    lines: dict[str, list[str]] = {}
    with progress(sum(fact.bytes for fact in facts.values()), "sampling text") as bar:
        for lang, (_, wanted) in quotas.items():
            segment = segmentations[options.segment[lang]]
            drawn = draw_lines(
                sources.text_of(lang), facts[lang].lines, wanted, options.seed, bar.update
            )
            lines[lang] = []
            while block := list(islice(drawn, 4096)):
                lines[lang] += segment(block)
    return lines
