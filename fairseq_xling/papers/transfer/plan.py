"""Which models are trained, and on what each is tested."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.meta import check_test_set
from fairseq_xling.papers.transfer.config import TransferConfig
from fairseq_xling.tasks.items import parse_files

Files = tuple[tuple[str, Path], ...]  # (language, file)


@dataclass(frozen=True)
class Encoder:
    """An encoder of the study: its name, checkpoint and data folder; ``scratch`` resets it."""

    name: str
    checkpoint: Path
    data: Path
    scratch: bool = False


@dataclass(frozen=True)
class Test:
    """A test file: under ``lang`` in the table, read as language ``reads`` by the model.

    ``name`` is that of the test set, where a language has several.
    """

    lang: str
    reads: str
    path: Path
    name: str = "test"

    @property
    def label(self) -> str:
        """What it is called in results, as on the command line.

        >>> Test("de", "de", Path("a")).label, Test("de", "de", Path("a"), "test1").label
        ('de', 'test1.de')
        """
        return self.lang if self.name == "test" else f"{self.name}.{self.lang}"


@dataclass(frozen=True)
class TrainSet:
    """A model's training files, dev file and test files.

    Attributes:
        name: for file names; redundant with the other fields.
        how: whether files are translations: ``translate-train``, ``translate-test``, or nothing.
        row: the text of its row in the table after the encoder's name.
    """

    name: str
    train: Files
    valid: Files
    tests: tuple[Test, ...]
    how: str = ""
    row: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The languages that it is trained on."""
        return tuple(dict.fromkeys(lang for lang, _ in self.train))


def encoders(config: TransferConfig) -> list[Encoder]:
    """The encoders that the settings name."""
    found = []
    for option, texts, scratch in (
        ("--encoder", config.encoder, False),
        ("--scratch", config.scratch, True),
    ):
        for text in texts:
            default = "scratch" if scratch else Path(text).parent.name or "encoder"
            name, path = _named(option, text, default)
            if not path.is_file():
                raise UserError(f"`{option}` {path}: no such checkpoint")
            found.append(Encoder(name, path, data_folder(config, name), scratch))
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two encoders are called {name!r}; name them, as in NAME=CHECKPOINT")
    return found


def _named(option: str, text: str, default: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals:
        name, path = default, text
    if not name or not path or "/" in name:
        raise UserError(f"`{option}` must look like NAME=PATH, got {text!r}")
    return name, Path(path)


def data_folder(config: TransferConfig, name: str) -> Path:
    """The data folder of the encoder called ``name``."""
    named = [_named("--data", text, Path(text).name) for text in config.data]
    folders = dict(named)
    if len(folders) < len(named):
        raise UserError(f"`--data` names one folder twice, got {', '.join(config.data)}")
    if name in folders:
        return folders[name]
    if len(folders) == 1:
        return next(iter(folders.values()))
    raise UserError(f"`--data` must say which folder is {name!r}'s, as in {name}=DATA")


def check_languages(chosen: Sequence[Encoder], sets: Sequence[TrainSet]) -> None:
    """Reject languages that an encoder does not read, before anything is trained."""
    wanted = [lang for one in sets for lang, _ in (*one.train, *one.valid)]
    wanted += [test.reads for one in sets for test in one.tests]
    for encoder in chosen:
        languages = DataFolder(encoder.data).languages
        for lang in wanted:
            if lang not in languages:
                raise unknown_name(f"language of {encoder.data}", lang, languages)


def check_layers(config: TransferConfig, chosen: Sequence[Encoder]) -> None:
    """Reject layers that an encoder does not have, before anything is read or trained."""
    from fairseq_xling.models.transfer_encoder import encoder_depth, encoder_layers  # fairseq

    for option, layer, number_of in (
        ("--freeze-layers", config.freeze_layers, encoder_layers),
        ("--shift-layer", config.shift_layer, encoder_depth),
    ):
        for encoder in chosen if layer else ():
            layers = number_of(encoder.checkpoint)
            if layer > layers:
                raise UserError(
                    f"`{option}` must lie in [0, {layers}], the layers of {encoder.checkpoint}, "
                    f"got {layer}"
                )


def zero_shot(config: TransferConfig) -> list[TrainSet]:
    """One model for all languages, and one more for each translated training file."""
    train, valid = (_files(f"--{n}", getattr(config, n)) for n in ("train", "valid"))
    tests = _tests("--test", config.test)
    source = train[0][0]
    trained = [lang for lang, _ in train]
    for lang, _ in valid:
        if lang not in trained:  # zero-shot: target languages are not used before the test
            raise UserError(
                f"`--valid` must be in a language of `--train` ({', '.join(trained)}), got {lang!r}"
            )
    sets = [TrainSet("zero-shot", train, valid, tests)]
    translated = _tests("--translate-test", config.translate_test)
    if translated:
        own = tuple(dataclasses.replace(test, reads=source) for test in translated)
        how = "translate-test"
        sets.append(TrainSet("zero-shot", train, valid, own, how, how))
    for lang, path in _files("--translate-train", config.translate_train, once=True):
        own = tuple(test for test in tests if test.lang == lang)
        if not own:
            raise UserError(f"`--translate-train` {lang}: there is no `--test` of this language")
        how = "translate-train"
        sets.append(TrainSet(f"train-{lang}", ((lang, path),), valid, own, how, how))
    return sets


def matrix(config: TransferConfig) -> list[TrainSet]:
    """A model for each training language, each tested on every language."""
    valid = dict(_files("--valid", config.valid, once=True))
    tests = _tests("--test", config.test)
    sets = []
    for lang, path in _files("--train", config.train, once=True):
        if lang not in valid:
            raise UserError(f"`--valid` must have a file of {lang!r}, which is trained on")
        own = ((lang, path),), ((lang, valid[lang]),)
        sets.append(TrainSet(f"train-{lang}", *own, tests, row=f"trained on {lang}"))
    return sets


def shift_dev(config: TransferConfig, sets: Sequence[TrainSet]) -> Files:
    """The files for selecting the size of the shift; none if it is given."""
    if not config.shift_layer or config.shift_alpha != "auto":
        return ()
    found = _files("--shift-dev", config.shift_dev, once=True)
    langs = [lang for lang, _ in found]
    for one in sets:
        for test in () if one.how else one.tests:
            if test.reads != one.train[0][0] and test.lang not in langs:
                raise UserError(f"`--shift-dev` must have a file of {test.lang!r}")
    return found


def parse_tests(option: str, texts: Sequence[str]) -> tuple[Test, ...]:
    """Files to test on, ``LANG=FILE`` or, of a further test set, ``test1.LANG=FILE``.

    >>> [(test.name, test.lang) for test in parse_tests("--test", ["de=a", "test1.de=b,fr=c"])]
    [('test', 'de'), ('test1', 'de'), ('test', 'fr')]
    """
    tests: list[Test] = []
    for piece in ",".join(texts).split(","):
        key, equals, path = piece.strip().partition("=")
        name, dot, lang = key.partition(".")
        if dot and equals:
            check_test_set(f"`{option}` {key}", name)
            piece = f"{lang}{equals}{path}"
        else:
            name = "test"
        tests += [
            Test(lang, lang, path, name)
            for lang, path in (parse_files(option, piece) if piece.strip() else ())
        ]
    labels = [test.label for test in tests]
    for test in tests:
        if labels.count(test.label) > 1:
            where = "" if test.name == "test" else f" in the set {test.name}"
            raise UserError(
                f"`{option}` has two files of language {test.lang!r}{where}; name a further set, "
                f"as in test1.{test.lang}=FILE"
            )
    return tuple(tests)


def _tests(option: str, texts: Sequence[str]) -> tuple[Test, ...]:
    tests = parse_tests(option, texts)
    check_files(*(test.path for test in tests), of=f"`{option}`")
    return tests


def _files(option: str, texts: Sequence[str], once: bool = False) -> Files:
    """The files of an option; with ``once``, each of a different language."""
    if not texts:
        return ()
    found = parse_files(option, ",".join(texts))
    check_files(*(path for _, path in found), of=f"`{option}`")
    langs = [lang for lang, _ in found]
    for lang in langs:
        if once and langs.count(lang) > 1:
            raise UserError(f"`{option}` has two files of language {lang!r}")
    return tuple(found)
