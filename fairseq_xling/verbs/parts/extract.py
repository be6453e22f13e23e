"""The verb ``extract``: loads a checkpoint and writes the states of a text."""

import argparse
from pathlib import Path

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.files import check_files, sha256, write_json
from fairseq_xling.provenance import provenance
from fairseq_xling.verbs.parts.eval import check_languages
from fairseq_xling.verbs.parts.extraction import extract
from fairseq_xling.verbs.units import units


def run_extract(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.extract`.

    Raises:
        UserError: for missing files, or invalid settings.
    """
    units.check(args.unit)
    files = {"checkpoint": Path(args.checkpoint), "text": Path(args.text)}
    if getattr(args, "words", None):
        files["words"] = Path(args.words)
    if args.concat_vectors and args.unit == "tokens":
        files["vectors"] = Path(args.concat_vectors)
    check_files(*files.values())
    data = DataFolder(args.data)
    from fairseq_xling.interop.encoder import Encoder

    encoder = Encoder.load(args.checkpoint, data=args.data, device=args.device)
    check_languages(args.checkpoint, encoder.languages, [args.lang])
    origin = {name: sha256(path) for name, path in files.items()}
    origin["most"] = getattr(args, "most", None)
    if args.count_unknown:  # only then: folders from before the option are without it
        origin["count_unknown"] = True
    output = Path(args.output)
    meta = extract(encoder, data, files["text"], args.lang, output, args, origin)
    if "provenance" not in meta:
        meta["provenance"] = provenance({**files, "data": data.path / "meta.json"})
        write_json(output / "meta.json", meta)
    print(f"{output}: {meta['rows']:,} rows ({meta['row']}), {meta['width']} wide")
