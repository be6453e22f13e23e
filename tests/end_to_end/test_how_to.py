"""The commands of the pages in docs/how-to run as they stand."""

import pytest

from tests.end_to_end.pages import folder_of, pages, parameters

# What a reader has at the end of each.
LEAVES = {
    "how-to/adversarial-tagging.md": ["tagger/checkpoint_best.pt", "tagged/scores.json"],
    "how-to/cluster.md": ["steps/data/joint.en-de/meta.json"],
    "how-to/own-languages.md": [
        *("encoder-own/checkpoint_best.pt", "own/report.html"),
        "own/models/translator-ca-1/checkpoint_last.pt",
    ],
    "how-to/corpus.md": [
        *(f"data-{name}/meta.json" for name in ("mine", "sets", "linked")),
        "roles-synthetic/scores.json",
    ],
    "how-to/encoder.md": ["minilm/checkpoint.pt", "states/meta.json"],
    "how-to/extend.md": [
        *("own.json", "own-nli/results.json", "own-pages/own-nli.html"),
        "own-ctc/checkpoint_last.pt",
    ],
    "how-to/fairseq-programs.md": ["hydra-checkpoints/checkpoint_last.pt"],
    "how-to/gpu.md": ["unpadded/checkpoint_last.pt"],
    "how-to/maps-in-python.md": [],
    "how-to/ordering.md": ["my_ordering/__init__.py"],
    "how-to/precision.md": ["half/checkpoint_last.pt"],
    "how-to/probe.md": ["deps/train.jsonl", "probe-deps/plot.svg", "probe-deps/table.csv"],
    "how-to/processes.md": ["two-processes/checkpoint_last.pt"],
    "how-to/reports.md": ["pages/eval.html"],
    "how-to/python.md": [],
    "how-to/resume.md": ["stopped/checkpoint_last.pt"],
    "how-to/shards.md": [
        *(f"{name}/checkpoint_last.pt" for name in ("folder-of-shards", "list-of-shards")),
        "data/shard1/meta.json",
    ],
    "how-to/structures.md": [
        "relations/model.safetensors",
        "relations-found/scores.json",
        "roles/heat-map.svg",
        "roles-words/paired.md",
    ],
    "how-to/token-translation.md": ["mds-en-de/results.json"],
    "how-to/training-options.md": [
        f"{name}/checkpoint_last.pt" for name in ("separate", "tlm", "anchors")
    ],
    "how-to/transfer-studies.md": ["transfer-ner/results.json", "transfer-ner/plot.svg"],
    "how-to/translate.md": [
        "translator/checkpoint_best.pt",
        "lattice/checkpoint_best.pt",
        "translator-en-de/model.pt",
    ],
    "how-to/word-alignment.md": ["aligned/checkpoint_last.pt", "de-en.map"],
}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("page", parameters(pages("how-to")))
def test_every_command_of_a_how_to_runs(page, pages_root):
    folder = folder_of(page, pages_root)
    assert [name for name in LEAVES[page.name] if not (folder / name).exists()] == []
