"""A test of the study of maps below a task head: a target text, read by another encoder.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2.
"""

from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.files import read_json, write_json
from fairseq_xling.provenance import provenance


@dataclass(frozen=True)
class MappedTest:
    """The models and files of a test.

    Attributes:
        tuned: folder of an `eval transfer` with one encoder, whose chosen models are tested.
        data: that encoder's data folder.
        checkpoint, checkpoint_data: the encoder that reads the text below ``layer``.
        lang: the language as it calls it.
        fitted: the map from its states to the fine-tuned model's; None leaves them unchanged.
        layer: the last of its layers that is used; 0 is the embeddings.
        file: what to predict.
    """

    tuned: Path
    data: Path
    checkpoint: Path
    checkpoint_data: Path
    lang: str
    fitted: Path | None
    layer: int
    file: Path
    device: str = "cpu"

    def run(self, result: Path) -> None:
        """Write the scores of every chosen setting and seed to ``result``.

        Raises:
            UserError: if encoders, map, layer and file are incompatible.
        """
        from fairseq_xling.interop.encoder import Encoder
        from fairseq_xling.mapping.fitted import read_map
        from fairseq_xling.tasks.mapped import mapped_predictor
        from fairseq_xling.tasks.predict import Predictor
        from fairseq_xling.verbs.predict_mapped import no_map

        found = read_json(self.tuned / "results.json")
        (row,), how = found["results"], found["config"]["unknown_labels"]
        reader = Encoder.load(self.checkpoint, self.checkpoint_data, self.device)
        fitted = None if self.fitted is None else read_map(self.fitted)
        tests = []
        for test in row["tests"]:
            name = f"{row['encoder']}-{row['trained']}-{test['setting']}-{test['seed']}"
            path = self.tuned / "models" / name / "checkpoint_best.pt"
            head = Predictor.load(path, self.data, self.device, unknown_labels=how)
            chosen = fitted or no_map(head, reader, self.layer)
            mapped = mapped_predictor(head, reader, chosen, self.layer)
            scores = mapped.predict(self.lang, self.file).scores
            tests.append({"setting": test["setting"], "seed": test["seed"], "scores": scores})
        inputs = {"encoder": self.checkpoint, "file": self.file}
        inputs |= {"map": self.fitted} if self.fitted else {}
        record = {"lang": self.lang, "layer": self.layer, "metric": row["metric"], "tests": tests}
        write_json(result, {**record, "provenance": provenance(inputs)})
