"""The text files of a data folder: named one by one, or found in a folder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairseq_xling.core.dataset_folders import files_of
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import same_place
from fairseq_xling.core.languages import parse_pair
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.meta import check_split, in_order, is_split
from fairseq_xling.text.tokenizers.pieces import tokenizer_file

Pair = tuple[str, str]


@dataclass
class Sources:
    """Files by split and language (or pair, in the order in which the user named it)."""

    mono: dict[tuple[str, str], tuple[Path, ...]] = field(default_factory=dict)
    parallel: dict[tuple[str, Pair], tuple[Path, Path]] = field(default_factory=dict)
    alignments: dict[tuple[str, Pair], Path] = field(default_factory=dict)
    dictionaries: dict[Pair, Path] = field(default_factory=dict)
    tokenizers: dict[str, Path] = field(default_factory=dict)

    def text_of(self, lang: str, split: str = "train") -> list[Path]:
        """Every file of ``split`` with sentences of ``lang``, monolingual or parallel."""
        files = list(self.mono.get((split, lang), ()))
        for (name, pair), sides in self.parallel.items():
            if name == split and lang in pair:
                files.append(sides[pair.index(lang)])
        return files

    def by_role(self) -> dict[str, tuple[Path, ...]]:
        """All files, by a name that does not depend on their location."""
        roles: dict[str, tuple[Path, ...]] = {}
        for (split, lang), files in self.mono.items():
            roles[f"mono/{split}.{lang}"] = files
        for (split, (a, b)), files in self.parallel.items():
            roles[f"parallel/{split}.{a}-{b}"] = files
        for (split, (a, b)), file in self.alignments.items():
            roles[f"alignment/{split}.{a}-{b}"] = (file,)
        for (a, b), file in self.dictionaries.items():
            roles[f"dictionary/{a}-{b}"] = (file,)
        for lang, file in self.tokenizers.items():
            roles[f"tokenizer/{lang}"] = (file,)
        return dict(sorted(roles.items()))


def parse_sources(
    languages: Sequence[str],
    mono: Sequence[str] = (),
    parallel: Sequence[str] = (),
    alignment: Sequence[str] = (),
    dictionary: Sequence[str] = (),
    folder: str | Path | None = None,
    shared_ids: bool = True,
    tokenizer: Sequence[str] = (),
) -> Sources:
    """The files of options such as ``--mono train.en=a.txt,b.txt`` and ``--from FOLDER``.

    A file named by an option replaces one found in ``folder`` for the same purpose.
    Without ``shared_ids`` (one dictionary for all languages) word pairs in ``folder`` are
    ignored.

    Raises:
        UserError: for an option of another form, a language that is not among ``languages``, a
            name that no split can have (see `check_split`), a key given twice, an alignment
            without its parallel text, or neither training text nor a tokenizer for some language.
    """
    named = Sources()

    def read(
        option: str, texts: Sequence[str], form: str, table: dict, splits: bool, pairs: bool = True
    ) -> Iterator[tuple[str, Any, tuple[Path, ...]]]:
        """How messages begin, the key in ``table`` and the files of each text."""
        for text in texts:
            key, equals, names = text.partition("=")
            files = tuple(Path(name) for name in names.split(",") if name)
            if not equals or not files:
                raise UserError(f"`{option}` must look like {form}, got {text!r}")
            what, split, name = f"`{option}` {key}", "train", key
            if splits and ("." in key or is_split(key)):  # else it is training text
                split, _, name = key.partition(".")
                check_split(what, split)
            with about(what):
                own: Any = parse_pair(name) if pairs else name
            for lang in own if pairs else (own,):
                if lang not in languages:
                    raise UserError(f"{what}: {unknown_name('language', lang, list(languages))}")
            place = (split, own) if splits else own
            if place in table:
                raise UserError(f"{what} is given twice")
            yield what, place, files

    form = "train.en=FILE[,FILE...]"
    for _, key, files in read("--mono", mono, form, named.mono, True, pairs=False):
        named.mono[key] = tuple(file for name in files for file in files_of(name))
    form = "train.en-de=FILE_EN,FILE_DE"
    for what, key, files in read("--parallel", parallel, form, named.parallel, True):
        if len(files) != 2:
            raise UserError(f"{what} needs two files, got {len(files)}")
        a, b = (_whole(what, file) for file in files)
        if same_place(a, b):
            raise UserError(f"{what} needs a file for each side, got {a} twice")
        if (key[0], key[1][::-1]) in named.parallel:
            raise UserError(f"{what} is given twice (the other way round)")
        named.parallel[key] = a, b
    form = "train.en-de=FILE"
    for what, key, files in read("--alignment", alignment, form, named.alignments, True):
        named.alignments[key] = _only(what, files)
    form = "en-de=FILE"
    for what, key, files in read("--dictionary", dictionary, form, named.dictionaries, False):
        named.dictionaries[key] = _only(what, files)
    form = "en=FOLDER"
    for what, key, files in read("--tokenizer", tokenizer, form, named.tokenizers, False, False):
        named.tokenizers[key] = tokenizer_file(_only(what, files), key)
    found = find_sources(folder, languages) if folder is not None else Sources()
    for (split, pair), sides in found.parallel.items():
        if (split, pair[::-1]) not in named.parallel:
            named.parallel.setdefault((split, pair), sides)
    if not shared_ids:
        found.dictionaries.clear()
    for lost in [key for key in found.alignments if key not in named.parallel]:
        del found.alignments[lost]
    sources = Sources(
        mono={**found.mono, **named.mono},
        parallel=named.parallel,
        alignments={**found.alignments, **named.alignments},
        dictionaries={**found.dictionaries, **named.dictionaries},
        tokenizers=named.tokenizers,
    )
    for split, (a, b) in sources.alignments:
        if (split, (a, b)) not in sources.parallel:
            raise UserError(
                f"`--alignment` {split}.{a}-{b} has no parallel text: give `--parallel "
                f"{split}.{a}-{b}` with the languages in the same order"
            )
    for lang in languages:
        if not sources.text_of(lang) and lang not in sources.tokenizers:
            raise UserError(
                f"no training text of language {lang!r}: give `--mono train.{lang}=FILE`"
            )
    return sources


def find_sources(folder: str | Path, languages: Sequence[str]) -> Sources:
    """The files in a folder in the layout of `fairseq-xling synthesize`.

    ``mono/<split>.<lang>.txt``, ``parallel/<split>.<a>-<b>.<lang>.txt``,
    ``parallel/<split>.<a>-<b>.pharaoh`` and ``dictionary/<a>-<b>.tsv``, each also with ``.gz`` or
    ``.xz``; files of other languages, and those that do not begin with a split, are ignored.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"`--from` must be a folder, got {folder}")
    found = Sources()
    pairs = [(a, b) for a in languages for b in languages if a != b]
    files = (file for part in ("mono", "parallel") for file in (folder / part).glob("*"))
    for split in in_order(filter(is_split, {file.name.partition(".")[0] for file in files})):
        for lang in languages:
            if file := _existing(folder / "mono" / f"{split}.{lang}.txt"):
                found.mono[split, lang] = (file,)
        for a, b in pairs:
            stem = folder / "parallel" / f"{split}.{a}-{b}"
            sides = [_existing(f"{stem}.{lang}.txt") for lang in (a, b)]
            if sides[0] and sides[1]:
                found.parallel[split, (a, b)] = (sides[0], sides[1])
                if file := _existing(f"{stem}.pharaoh"):
                    found.alignments[split, (a, b)] = file
    for a, b in pairs:
        if file := _existing(folder / "dictionary" / f"{a}-{b}.tsv"):
            found.dictionaries[a, b] = file
    if not found.mono and not found.parallel:
        raise UserError(
            f"`--from` {folder} holds neither mono/<split>.<lang>.txt nor parallel/<split>.<a>-<b>."
            f"<lang>.txt of {', '.join(languages)}"
        )
    return found


def _existing(path: str | Path) -> Path | None:
    paths = (Path(f"{path}{packed}") for packed in ("", ".gz", ".xz"))
    return next((path for path in paths if path.is_file()), None)


def _only(what: str, files: tuple[Path, ...]) -> Path:
    if len(files) != 1:
        raise UserError(f"{what} needs one file, got {len(files)}")
    return _whole(what, files[0])


def _whole(what: str, path: Path) -> Path:
    """The one file of ``path``, which may be a folder of Hugging Face's datasets."""
    files = files_of(path)
    if len(files) != 1:
        raise UserError(
            f"{what} needs one file, got {len(files)} in {path}; save it with `num_shards=1`"
        )
    return files[0]
