"""Write hidden states of a text to disk: vectors of subwords, word types or sentences.

  fairseq-xling extract checkpoint_best.pt --data data-bin --lang en --text en.txt \\
      --unit sentences --layers 0-4 --output states/en

OUTPUT/layerNN.npy   a row per subword, word type or line of the text; read it with
                     numpy.load(..., mmap_mode="r")
OUTPUT/meta.json     what a row is, and its provenance

`--unit static` writes rows of the embedding matrix instead, for words that are single subwords.

An interrupted call resumes when repeated, with the same result.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import NEW_FOLDER
from fairseq_xling.core.options import add_fields, option, values_of

if TYPE_CHECKING:
    from fairseq_xling.analysis.subject import Encoder
    from fairseq_xling.data.folder import DataFolder

GROUP = "States and maps"
DTYPES = ("float32", "float16")


def _options() -> Any:
    """The options of the verb, which name the units that there are."""
    from fairseq_xling.verbs.units import units

    @dataclasses.dataclass(frozen=True)
    class Options:
        checkpoint: str = shared.checkpoint()
        data: str | None = shared.data_of_model()
        text: str = shared.text()
        lang: str = shared.lang()
        unit: str = option("sentences", f"unit of a row: {', '.join(units)}", metavar="UNIT")
        layers: str = option(
            "all", "such as 0,2-4; 0 is the output of the embeddings", metavar="LAYERS"
        )
        dtype: str = option("float32", "type of the vectors on disk", choices=DTYPES, usage=True)
        max_tokens: int = shared.max_tokens()
        device: str = shared.device()
        output: str = shared.output("folder to write; it must be new", NEW_FOLDER)

    return Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the verb, and in a group each those of the units."""
    from fairseq_xling.verbs.units import units

    add_fields(parser, _options())
    owners = {units[name].options: name for name in units}  # of those that share them, the last
    for name in sorted(owners.values()):
        add_fields(parser.add_argument_group(f"unit {name}"), units[name].options)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.checkpoints.files import model_and_data
    from fairseq_xling.core.files import check_files, sha256, write_json
    from fairseq_xling.core.provenance import provenance
    from fairseq_xling.data.folder import DataFolder
    from fairseq_xling.verbs.eval import load_encoder
    from fairseq_xling.verbs.units import units

    options, own = values_of(_options(), args), values_of(units[args.unit].options, args)
    checkpoint, data_folder = model_and_data(options.checkpoint, options.data)
    files = {"checkpoint": Path(checkpoint), "text": Path(options.text)}
    if args.words:
        files["words"] = Path(args.words)
    if args.concat_vectors and options.unit == "tokens":
        files["vectors"] = Path(args.concat_vectors)
    check_files(*files.values())
    data = DataFolder(data_folder)
    encoder = load_encoder(checkpoint, data_folder, options.device, [options.lang])
    origin: dict[str, Any] = {name: sha256(path) for name, path in files.items()}
    origin["most"] = args.most
    if args.count_unknown:  # only then: folders from before the option are without it
        origin["count_unknown"] = True
    output = Path(options.output)
    meta = extract(encoder, data, output, options, own, origin)
    if "provenance" not in meta:
        meta["provenance"] = provenance({**files, "data": data.path / "meta.json"})
        write_json(output / "meta.json", meta)
    print(f"{output}: {meta['rows']:,} rows ({meta['row']}), {meta['width']} wide")


def extract(
    encoder: Encoder,
    data: DataFolder,
    output: Path,
    options: Any,
    own: Any,
    origin: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the vectors of a text into the folder ``output``; returns its ``meta.json``.

    The text is read in blocks; what a unit keeps of a block is on disk before the next one begins.
    The folder gets its name when it is complete.

    Args:
        options: ``text``, ``lang``, ``unit``, ``layers``, ``dtype``, ``max_tokens``.
        own: the options of the unit.
        origin: what else determines the result, such as checksums; a folder with another origin
            is rejected.
    """
    from fairseq_xling.analysis.layers import parse_layers
    from fairseq_xling.core.errors import UserError
    from fairseq_xling.core.files import read_json, write_json
    from fairseq_xling.core.folders import META, is_finished, new_folder
    from fairseq_xling.core.progress import progress
    from fairseq_xling.core.texts import read_sentences
    from fairseq_xling.text.blocks import sentence_blocks
    from fairseq_xling.text.encoder import TextEncoder
    from fairseq_xling.verbs.units import Work, units

    kind, text, lang = units[options.unit], Path(options.text), options.lang
    layers = parse_layers(options.layers, getattr(kind, "last_layer", encoder.num_layers))
    settings = {"unit": options.unit, "layers": list(layers), "dtype": options.dtype, "lang": lang}
    settings |= {"max_tokens": options.max_tokens, **origin}
    if is_finished(output, settings):
        return read_json(output / META)
    total = sum(1 for _ in read_sentences(text))
    if not total:
        raise UserError(f"{text}: contains no lines")
    with new_folder(output, settings, "extract") as folder:
        encode = TextEncoder.load(data.path, lang)
        work = Work(
            folder,
            text,
            lang,
            data,
            encode,
            layers,
            encoder.width,
            np.dtype(options.dtype),
            lambda: encoder.embeddings(lang),
        )
        unit = kind(work, own)
        unknown = getattr(unit, "unknown", False)
        with progress(total, f"extract {options.unit}", "sentences") as bar:
            bar.update(unit.done)
            for lines in sentence_blocks(text, unit.done):
                sentences = encode.encode(lines)
                block = unit.block(lines, sentences)
                found = _states(encoder, sentences, lang, options.max_tokens, unknown)
                for indices, states, words in found:
                    block.add(indices, states[list(layers)], words)
                block.close()
                bar.update(len(lines))
        meta = {"settings": settings, "width": encoder.width, **unit.finish()}
        write_json(folder / META, meta)
    return meta


def _states(
    encoder: Encoder, sentences: Sequence[np.ndarray], lang: str, max_tokens: int, unknown: bool
) -> Iterator[tuple[np.ndarray, Any, Any]]:
    """As `Encoder.states`, of lines with a subword: no unit takes anything from a blank one."""
    written = np.flatnonzero([len(ids) > 1 for ids in sentences])
    some = [sentences[number] for number in written]
    for indices, states, words in encoder.states(some, lang, max_tokens, unknown) if some else ():
        yield written[indices], states, words
