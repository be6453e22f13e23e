"""Fields that the papers' presets of several studies have alike, for tests of every field."""

# Conneau et al. (2020), Section 3.1; fields without a mark are not the paper's. The number of
# steps is counted from epochs where a study is run.
TRAINING = {
    "vocab_type": "bpe",
    "vocab_size": 80_000,  # 80k joint, 40k + 40k
    "segment": "",
    "prepare_args": "--vocab-sample 250",  # 8 MB, the default, have fewer pieces
    "arch": "separable_transformer_base",  # 12 heads, 768 and 3,072 wide, GELU, dropout .1
    "layers": 8,
    "epochs": 200,
    "epoch_size": 200_000,
    "epoch_unit": "sentences",
    "block": 256,  # streams of 256 tokens
    "batch_size": 96,
    "max_tokens": 0,
    "update_freq": 1,
    "processes": 8,
    "lr": 1e-4,
    "warmup": 30_000,
    "train_args": "",
    "device": "cuda",
    "precision": "fp16",
    "jobs": 1,
}
