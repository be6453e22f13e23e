"""What a GPU is waited for is written down: models and training ask for numbers in these functions.

`tests/end_to_end/test_synchronisation.py` counts what a step does; here the source is read, so that
no branch is missed.
"""

import ast
from pathlib import Path

import fairseq_xling

ROOT = Path(fairseq_xling.__file__).parent
PLACES = ("models", "training", "papers/clcr/modules", "papers/clcr/criterion.py")
# Methods and functions whose result is a number, lies in memory, or has a shape of values.
ASKS = {
    *("item", "tolist", "cpu", "numpy", "nonzero", "argwhere", "masked_select", "unique"),
    "unique_consecutive",
}
MASKS = ("mask", "inside", "predicted", "used", "keep", "real")

# By file, the functions that may, and why.
ROWS = "how many rows a batch has for it"
WORDS = "how many words are predicted"
SEARCH = "a search or a translation, after the encoder"
LOG = "the log of a step"
FILE = "reads or writes a file"
READS = "models that only read, on a CPU"
ALLOWED: dict[str, dict[str, str]] = {
    "models/auxiliary/nsp.py": {"NextSentenceHead.forward": ROWS},
    "models/auxiliary/order.py": {"OrderHead.forward": ROWS},
    "models/auxiliary/relative.py": {"RelativeOrderHead.forward": ROWS},
    "models/auxiliary/slots.py": {"assemble": SEARCH},
    "models/best_tokens.py": {"_listed": SEARCH},
    "papers/clcr/modules/extract.py": {
        "ExtractModule.forward": WORDS,
        "partner_of_source": "how many pairs of words are aligned",
    },
    "papers/clcr/modules/order.py": {"OrderModule.forward": ROWS},
    "papers/clcr/modules/transform.py": {
        "TransformModule.begin": "before the first step",
        "TransformModule._spread": "for a map that is estimated anew",
    },
    "models/ordering/absolute.py": {
        "AbsoluteOrder.loss": "how many key-points there are",
        "_used": "words of an error; another check is on the host",
    },
    "models/ordering/search.py": {
        "_arrange": SEARCH,
        "_searched": SEARCH,
        "assign_exactly": SEARCH,
    },
    "models/emissions/aligned.py": {"Aligned.write": SEARCH},
    "models/emissions/ctc.py": {"Ctc.write": SEARCH, "Ctc._searched": SEARCH},
    "models/emissions/lattice.py": {"Lattice.best": "which slots write a word, for glancing"},
    "models/encoder.py": {"SeparableEncoder.path_weights": FILE},
    "models/identity.py": {"decode_identity": FILE},
    "models/phases.py": {"fingerprint": FILE},
    "models/reading.py": {"_real": READS, "_attention_of_sizes": READS},
    "models/separable_transformer.py": {"SeparableTransformer.forward": f"{WORDS}, with padding"},
    "models/tri_encoder.py": {
        "TriTransformer.forward": ROWS,
        "TriTransformer._glanced": "which words are shown",
        "TriTransformer._emitted": "the widths of slots, at once, where rows are of several kinds",
    },
    "models/unpadded.py": {"_by_padding": "in place of flash attention, which a CPU has not"},
    "papers/clcr/criterion.py": {"ClcrCriterion.reduce_metrics": LOG},
    "training/criterion.py": {
        "UnifiedLMCriterion.forward": f"{WORDS}, by a model that does not say",
        "UnifiedLMCriterion.reduce_metrics": LOG,
    },
    "training/private.py": {
        "unreached_anywhere": "once an update in several processes, which wait for each other then"
    },
    "training/tagging_criterion.py": {"TaggingCriterion.reduce_metrics": LOG},
    "training/transfer_criterion.py": {"TransferCriterion.reduce_metrics": LOG},
    "training/word_alignment.py": {
        "WordAlignmentCriterion.forward": "how many source words there are",
        "aligned": "how many pairs of words are aligned",
    },
}


def waits(tree: ast.AST, place: str = ""):
    """(function, line) of each call and each index by a mask below ``tree``."""
    for node in ast.iter_child_nodes(tree):
        inner = place
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inner = f"{place}.{node.name}" if place else node.name
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            if name in ASKS:
                yield inner, node.lineno
        if isinstance(node, ast.Subscript) and _is_mask(node.slice):
            yield inner, node.lineno
        yield from waits(node, inner)


def _is_mask(index: ast.expr) -> bool:
    if isinstance(index, ast.Tuple):
        return any(map(_is_mask, index.elts))
    if isinstance(index, ast.Compare):
        return True
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        return True
    return isinstance(index, ast.Name) and index.id.rpartition("_")[2] in MASKS


def found():
    places: dict[str, dict[str, list[int]]] = {}
    for folder in PLACES:
        place = ROOT / folder
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for function, line in waits(ast.parse(path.read_text())):
                name = str(path.relative_to(ROOT))
                places.setdefault(name, {}).setdefault(function, []).append(line)
    return places


def test_models_and_training_ask_for_numbers_in_known_functions_alone():
    seen = {file: set(functions) for file, functions in found().items()}
    allowed = {file: set(functions) for file, functions in ALLOWED.items()}
    new = {file: names - allowed.get(file, set()) for file, names in seen.items()}
    gone = {file: names - seen.get(file, set()) for file, names in allowed.items()}
    assert not {file: names for file, names in new.items() if names}
    assert not {file: names for file, names in gone.items() if names}


def test_what_is_asked_is_seen():
    source = """
def step(x, mask):
    total = x.sum().item()
    kept = x[x > 0], x[~mask], x[0, mask]
    return x[0], x[1:], total

class Model:
    def forward(self, x):
        return torch.nonzero(x)
"""
    seen = [place for place, _ in waits(ast.parse(source))]
    assert seen == ["step", "step", "step", "step", "Model.forward"]
