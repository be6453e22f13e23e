"""Language leakage: probability mass of each language's own words at masked positions.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 4.1; the mathematics is in `analysis.language_mass`.
"""

import dataclasses

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, seed
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart
from fairseq_xling.verbs.measures import MEASURES, Findings, Measure, masked_sentences


@dataclasses.dataclass(frozen=True)
class Options:
    langmass_split: str = option("valid", "split in which words are masked", metavar="SPLIT")
    langmass_vocabulary: str = option(
        "train", "split whose subwords define a language's vocabulary", metavar="SPLIT"
    )
    langmass_limit: int = option(
        1000, "mask only in the first N sentences of each language; 0 = all", least=0
    )
    langmass_seed: int = seed(7, "seed of the masks", "SEED")


@MEASURES.register("langmass")
class LanguageLeakage(Measure):
    """The model's probability mass by language at masked subwords of each language."""

    options = Options

    def run(self, subject: Subject, options: Options) -> Findings:
        import torch

        from fairseq_xling.analysis.corpus import token_set
        from fairseq_xling.analysis.language_mass import LanguageMass, exclusive

        folder = subject.folder
        if folder.separate_vocabularies:
            raise UserError(
                f"{folder.path}: `--measure langmass` needs ids that the languages share; here "
                "each has its own dictionary"
            )
        langs, size = folder.languages, folder.vocab_sizes[subject.source]
        sets = torch.stack(
            [token_set(folder.mono(options.langmass_vocabulary, lang), size) for lang in langs]
        )
        own = exclusive(sets).sum(1)
        found = Findings(
            title=f"Probability mass at masked positions, {options.langmass_split!r} split, masks "
            f"of seed {options.langmass_seed}",
            rows=[],
            table=Table({"text": "target"}, after={"masked": "masked"}),
            chart=Chart(
                "bars",
                row="target",
                series="row",
                ylabel="mass, {measure}",
            ),
            notes=[
                "columns: subwords that occur in the "
                f"{options.langmass_vocabulary!r} text of one language alone, "
                + ", ".join(f"{n:,} of {x}" for n, x in zip(own.tolist(), langs, strict=True)),
                f"chance: {', '.join(f'{n / size:.3f}' for n in own.tolist())}",
            ],
        )
        for lang in (subject.source, *subject.targets):
            file = folder.mono(options.langmass_split, lang)
            sentences, masks = masked_sentences(file, options.langmass_limit, options.langmass_seed)
            mass = LanguageMass(sets)
            for logits, _ in subject.encoder.masked_logits(sentences, masks, lang):
                mass.update(logits)
            if not mass.count:
                raise UserError(
                    f"{folder.path}: the {options.langmass_split!r} text of {lang!r} has no "
                    "subword to mask"
                )
            values = mass.value().tolist()
            uniform = [n / size for n in own.tolist()]
            found.rows += [
                {
                    **{"target": lang, "measure": name, "of": of, "value": value},
                    **{"chance": chance, "masked": mass.count},
                }
                for name, of, value, chance in zip(
                    [*(f"{one} only" for one in langs), "several or none"],
                    [*langs, None],
                    [*values, 1 - sum(values)],
                    [*uniform, None],
                    strict=True,
                )
            ]
        return found
