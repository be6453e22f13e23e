"""Learn the piece models and dictionaries of a data folder from a bounded sample of training text.

Languages that share a vocabulary are drawn with the smoothed shares of Conneau et al. (2020),
Section 3.1, so that small languages get their own pieces.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.files import atomic_write, read_json, without_bom, write_json
from fairseq_xling.core.progress import progress
from fairseq_xling.core.texts import open_binary
from fairseq_xling.data.sampling import smoothed_shares
from fairseq_xling.text.inputs import Inputs, TextFacts
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.pieces import count_pieces
from fairseq_xling.text.segment import segmentations
from fairseq_xling.text.sources import Sources
from fairseq_xling.text.tokenizers.pieces import load_pieces, ready_pieces
from fairseq_xling.text.vocabularies import collect_symbols, modes, write_dictionary
from fairseq_xling.text.vocabulary_types import vocabulary_types


def sample_quotas(
    facts: Mapping[str, TextFacts], alpha: float, budget: float
) -> dict[str, tuple[float, int]]:
    """Share q and number of sentences to draw for each language.

    As many sentences as there are in total, or fewer if they would exceed ``budget`` bytes.

    >>> facts = {"en": TextFacts(900, 900, 90_000), "sw": TextFacts(100, 100, 10_000)}
    >>> sample_quotas(facts, 1.0, 50_000)
    {'en': (0.9, 450), 'sw': (0.1, 50)}
    >>> sample_quotas(facts, 0.0, 1e9)
    {'en': (0.5, 500), 'sw': (0.5, 500)}
    """
    shares = smoothed_shares({lang: fact.sentences for lang, fact in facts.items()}, alpha)
    per_sentence = sum(q * facts[lang].bytes / facts[lang].sentences for lang, q in shares.items())
    total = min(sum(fact.sentences for fact in facts.values()), budget / per_sentence)
    return {lang: (round(q, 12), max(1, round(total * q))) for lang, q in shares.items()}


def draw_lines(
    paths: Sequence[Path],
    total: int,
    wanted: int,
    seed: int,
    advance: Callable[[int], Any] = lambda n: None,
    salt: str = "",
) -> Iterator[str]:
    """``wanted`` of the ``total`` lines of ``paths``, spread evenly, in the order of the files.

    One line is drawn from each of ``wanted`` equal ranges, so only the drawn line numbers are in
    memory. If ``wanted`` exceeds ``total``, all lines are repeated. The choice depends on ``salt``,
    or on the name of the first file: both sides of parallel text need the same.
    """
    rng = np.random.default_rng([seed, zlib.crc32((salt or paths[0].name).encode())])
    rounds, rest = divmod(wanted, total)
    chosen = ((np.arange(rest) + rng.random(rest)) * (total / max(rest, 1))).astype(np.int64)
    picks = np.minimum(chosen, total - 1).tolist()
    pointer, number = 0, 0
    for path in paths:
        read = 0
        with open_binary(path) as file:
            for line in file:
                times = rounds
                while pointer < len(picks) and picks[pointer] == number:
                    times += 1
                    pointer += 1
                if times:
                    text = without_bom(line.decode("utf-8").rstrip("\r\n"))
                    yield from [text] * times
                number += 1
                read += len(line)
                if read > 1 << 20:
                    advance(read)
                    read = 0
        advance(read)


def learn_vocabulary(
    out: Path, work: Path, sources: Sources, inputs: Inputs, options: PrepareOptions
) -> dict[str, dict[str, float]]:
    """Write all models of pieces and ``dict*.txt``; existing models are kept.

    For a language with a tokenizer of another folder nothing is learnt: it is copied.

    Returns the share of each language in the sample of its model, by model file.
    """
    mode = modes[options.vocab]()
    kind, sizes = vocabulary_types[options.vocab_type], (options.vocab_size, options.alphabet)
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
                    file, model = kind.file(name), kind.learn(text, *sizes, label)
                with atomic_write(out / file) as opened:
                    opened.write(model)
                learnt = load_pieces(out / file, kind.whole_words)
                with learnt.remembering():
                    found = {
                        lang: count_pieces(learnt, lines.get(lang, ())).tolist()
                        for lang in languages
                    }
                write_json(record, {"pieces": learnt.symbols, "counts": found})
                bar.update(1)
        found = read_json(record)
        for lang in languages:
            pieces[lang], counts[lang] = found["pieces"], found["counts"][lang]
    for name, symbols in collect_symbols(mode, pieces, counts).items():
        write_dictionary(out / name, symbols)
    return shares


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
