#!/usr/bin/env bash
# Table 4's multilingual competitors: one encoder of both languages with masked LM (mBERT), and one with
# TLM on the sentence pairs of CLCR as well (XLM), of the sizes and on the text of 1_synthetic.sh, with as
# many updates as its two encoders together; fine-tuned on English, beside the sequences of CLCR with the
# same seeds. Needs the run folder of 1_synthetic.sh.
#   examples/clcr/8_multilingual.sh RUN_FOLDER OUTPUT
# OUTPUT-measures has what was found. If interrupted, the same command resumes. LANGUAGE (default de),
# SEEDS and TASKS (default "roles nli") choose what is run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/clcr/synthetic}
output=${2:-runs/clcr/multilingual}
source "$here/running.sh"
lang=${LANGUAGE:-de} found=$output-measures output=$output/${LANGUAGE:-de}
data=$output/data
read -ra seeds <<<"${SEEDS:-1 2 3}"
read -ra tasks <<<"${TASKS:-roles nli}"
mkdir -p "$output/logs" "$found"

segment=()
[ "$lang" != zh ] || segment=(--segment zh=char)
fairseq-xling prepare "$data" --languages "en,$lang" --from "$run/plain" \
    --vocab joint --vocab-type word --vocab-size 6000 --aligner none "${segment[@]}"

encoder() { # NAME OBJECTIVES SEED
    pretrain "$1, seed $3" "$output/logs/$1-$3.log" "$output/encoders/$1-$3" "$data" \
        --objectives "$2" --max-update "$((2 * ${UPDATES:-1000}))" --seed "$3"
}
for seed in "${seeds[@]}"; do
    echo "mBERT mlm $seed"
    echo "XLM mlm,tlm $seed"
done | in_parallel encoder

tune() { # TASK SEED: both encoders
    local gold=$run/plain/gold/$1 name chosen=()
    for name in mBERT XLM; do
        chosen+=(--encoder "$name=$output/encoders/$name-$2/checkpoint_last.pt")
    done
    echo "$1, seed $2: $output/logs/$1-$2.log"
    quietly "$output/logs/$1-$2.log" fairseq-xling eval transfer --output "$output/$1-$2" \
        "${chosen[@]}" --data "$data" --seeds "$2" --lrs "${LRS:-1e-3,3e-4}" \
        --batch-sizes 32 --epochs "${EPOCHS:-10}" \
        --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv" \
        --test "en=$gold.test.en.tsv" --test "$lang=$gold.test.$lang.tsv"
}
for task in "${tasks[@]}"; do
    for seed in "${seeds[@]}"; do echo "$task $seed"; done
done | in_parallel tune

for task in "${tasks[@]}"; do
    [ ! -f "$found/$lang-$task.json" ] || continue
    beside=()
    for seed in "${seeds[@]}"; do beside+=(--beside "$output/$task-$seed"); done
    classify "$task" "$lang" "$output/$task" "${beside[@]}"
    cp "$output/$task/results.json" "$found/$lang-$task.json"
done
