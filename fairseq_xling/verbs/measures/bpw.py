"""Bits per word over fixed masks, per language (TreLM, appendix A.7)."""

import dataclasses
import math

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, seed
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart
from fairseq_xling.verbs.measures import MEASURES, Findings, Measure, masked_sentences


@dataclasses.dataclass(frozen=True)
class Options:
    bpw_split: str = option("valid", "monolingual split to predict", metavar="SPLIT")
    bpw_limit: int = option(0, "use only the first N sentences; 0 = all", least=0)
    mask_seed: int = seed(7, "seed of the fixed masks", "SEED")


@MEASURES.register("bpw")
class BitsPerWord(Measure):
    """Mean ``-log2 p`` of masked subwords; the masks are the same for every model."""

    options = Options

    def run(self, subject: Subject, options: Options) -> Findings:
        from fairseq_xling.analysis.bpw import bits_per_word

        found = Findings(
            title=f"Bits per word, {options.bpw_split!r} split, masks of seed {options.mask_seed}",
            rows=[],
            table=Table(
                {"language": "target"},
                after={"uniform model": "chance", "masked subwords": "subwords"},
            ),
            chart=Chart("bars", row="target", series="row", chance="uniform model"),
            notes=["comparable between models with the same subwords"],
        )
        for lang in (subject.source, *subject.targets):
            file = subject.folder.mono(options.bpw_split, lang)
            if not len(file):
                raise UserError(
                    f"{subject.folder.path}: the {options.bpw_split!r} split of {lang!r} is empty"
                )
            sentences, masks = masked_sentences(file, options.bpw_limit, options.mask_seed)
            log_probs = list(subject.encoder.masked_log_probs(sentences, masks, lang))
            score = bits_per_word(log_probs)
            uniform = math.log2(subject.folder.vocab_sizes[lang])
            row = {"target": lang, "measure": "bits per word", "value": score, "chance": uniform}
            found.rows.append({**row, "subwords": sum(map(len, log_probs))})
        return found
