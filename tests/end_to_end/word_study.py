"""A translator that knows every word, without training: what translation and encoders are tried on.

One language is English relabelled, in the other the relabelled words also come backwards.
"""

import random

import torch

from fairseq_xling import USER_DIR
from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.cli import main
from fairseq_xling.data.folder import UNK, read_dictionary
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder
from tests.end_to_end.engine import in_process
from tests.once import once
from tests.word_by_word import make_word_by_word

WORDS = "sun moon dog cat bird fish tree leaf red blue green one two three runs sees".split()
# Words that are not in the vocabulary; two lines have the same tokens, one is left out.
UNKNOWN = {
    "en": ["sun moon dog cat", "red fish sees", "green", "red bird sees", "one two three runs"],
    "xx": ["xsun xmoon xdog xcat", "xred Ωmega, xsees", "", "xred Äpfel! xsees", "xone 2 3 xruns"],
    "links": ["0-0", "0-0", "", "0-0", "0-0"],
}
DIM, FFN, LAYERS, POSITIONS = 64, 16, 2, 40


class WordStudy:
    """A data folder of English and a language ``xx``, and a checkpoint that knows every word."""

    def __init__(self, root, backwards):
        self.root, self.data = root, root / "data"
        self.checkpoint = root / "model" / "checkpoint_last.pt"
        rng = random.Random(1)
        english = [rng.sample(WORDS, rng.randint(1, 9)) for _ in range(30)]
        step = -1 if backwards else 1
        other = [[f"x{word}" for word in words[::step]] for words in english]
        links = [[f"{i}-{j}" for j, i in enumerate(range(len(w))[::step])] for w in english]
        files = {"en": [*english, WORDS], "xx": [*other, [f"x{word}" for word in WORDS]]}
        files["links"] = [*links, [f"{i}-{i}" for i in range(len(WORDS))]]
        self.lines = {name: [" ".join(line) for line in text] for name, text in files.items()}

    @classmethod
    def made(cls, root, backwards):
        """The one in the folder ``root``, made by whichever worker comes first."""
        study = cls(root, backwards)
        once(root, lambda _: study._make())
        return study

    def _make(self):
        root = self.root
        for name, text in self.lines.items():
            (root / name).write_text("\n".join(text) + "\n")
        arguments = ["--languages", "en,xx", "--vocab-type", "word", "--vocab-size", "200"]
        for split in ("train", "test"):
            arguments += ["--parallel", f"{split}.en-xx={root / 'en'},{root / 'xx'}"]
            arguments += ["--alignment", f"{split}.en-xx={root / 'links'}"]
        for name, text in UNKNOWN.items():
            (root / f"unknown.{name}").write_text("\n".join(text) + "\n", encoding="utf-8")
        files = ",".join(str(root / f"unknown.{lang}") for lang in ("en", "xx"))
        arguments += ["--parallel", f"test1.en-xx={files}"]
        arguments += ["--alignment", f"test1.en-xx={root / 'unknown.links'}"]
        assert main(["prepare", str(self.data), *arguments]) == 0
        in_process(
            "train",
            *(self.data, "--user-dir", USER_DIR, "--save-dir", self.checkpoint.parent),
            *"--task cdlm --arch tri_bert_tiny --criterion unified_lm --objectives cdlm".split(),
            *"--auxiliary order --optimizer adam --lr 1e-3 --max-tokens 512".split(),
            *"--cpu --num-workers 0 --max-update 1 --disable-validation".split(),
            *f"--encoder-layers {LAYERS} --encoder-embed-dim {DIM} --lm-head linear".split(),
            *f"--encoder-ffn-embed-dim {FFN} --max-positions {POSITIONS}".split(),
        )
        self.teach(self.checkpoint)

    def teach(self, output, backward=False):
        """Write a checkpoint that knows every word's translation, into English if ``backward``."""
        symbols = read_dictionary(self.data / "dict.txt")
        number = {symbol: i for i, symbol in enumerate(symbols)}
        words = {number[f"▁{word}"]: number[f"▁x{word}"] for word in WORDS}
        words = {there: here for here, there in words.items()} if backward else words
        shape = EncoderShape(
            LAYERS, DIM, FFN, 4, POSITIONS, language_embeddings=True, num_segments=2
        )
        encoder = TriEncoder(shape, {"en": len(symbols), "xx": len(symbols)}, SharingPlan())
        make_word_by_word(encoder, words, null_word=UNK)
        state = load_plain(self.checkpoint)
        for name, tensor in encoder.state_dict().items():
            assert state["model"][f"encoder.{name}"].shape == tensor.shape
            state["model"][f"encoder.{name}"] = tensor
        output.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, output)

    def generate(self, *flags):
        return in_process("generate", *self.options(*flags), "--scoring", "sacrebleu")

    def options(self, *flags):
        return [
            *(self.data, "--user-dir", USER_DIR, "--task", "cdlm", "--path", self.checkpoint),
            *("--gen-subset", "test", "--batch-size", "8", "--cpu", "--num-workers", "0"),
            *flags,
        ]
