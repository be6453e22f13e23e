# For the scripts of this folder, which read it in.
quietly() { # LOG COMMAND...: what it prints goes to the log, the end of that here if it fails
    "${@:2}" >"$1" 2>&1 || { echo "see $1:" >&2; tail -n 3 "$1" >&2; return 1; }
}
in_parallel() { # FUNCTION, with arguments from standard input, a line a call; JOBS (2) at a time
    local line one failed=0 pids=()
    while read -ra line; do
        while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do sleep 1; done
        "$1" "${line[@]}" </dev/null &
        pids+=($!)
    done
    for one in "${pids[@]}"; do wait "$one" || failed=1; done
    [ "$failed" = 0 ] || exit 1 # when none runs on that would be in the way of the next call
}
# How a classifier is trained on sequences.
classifier=(--hidden 64 --lr 1e-3 --dropout 0.2 --epochs "${EPOCHS:-10}" --patience 4)
of_study() { # RUN_FOLDER LANG: of_study, the options of a study with the data and encoders of another
    local run=$1 lang=$2 gold=$1/plain/gold/roles seeds=${SEEDS:-1 2 3}
    of_study=(--data "$run/data" --pair "$lang,en"
        --encoder "$lang=$run/encoders/$lang-1/checkpoint_last.pt"
        --encoder "en=$run/encoders/en-1/checkpoint_last.pt" --seeds "${seeds// /,}" --orders rel
        --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv"
        --test "$lang=$gold.test.$lang.tsv" --jobs "${JOBS:-2}"
        --classify-args "${classifier[*]}")
}
pretrain() { # NAME LOG FOLDER DATA [further options]: an encoder of the embedded corpus, unless it is done
    [ ! -f "$3/done" ] || return 0
    echo "encoder $1: $2"
    quietly "$2" fairseq-train "$4" --user-dir "$(fairseq-xling user-dir)" --task bilingual_mlm \
        --arch separable_transformer_tiny --encoder-layers 4 --max-positions 64 \
        --attention-dropout 0 --criterion unified_lm --sample-break-mode sentence \
        --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 3e-3 \
        --lr-scheduler inverse_sqrt --warmup-updates 100 --max-tokens 2048 --epoch-updates 250 \
        --save-dir "$3" --no-epoch-checkpoints --num-workers 0 --cpu --cpu-precision auto \
        --log-format json --log-interval 100 "${@:5}"
    touch "$3/done"
}
classify() { # TASK LANG OUTPUT [further options]: each row of table 4, trained on English; of $run, $seeds
    local vectors=() row gold=$run/plain/gold/$1
    for row in T+pGA T T+E T+E+R; do
        vectors+=(--vectors "$row=$run/$2/seed{seed}/sequences/$row/{file}.{side}")
    done
    fairseq-xling clcr classify --output "$3" "${vectors[@]}" \
        --train "en=$gold.train.en.tsv" --valid "en=$gold.valid.en.tsv" \
        --test "en=$gold.test.en.tsv" --test "$2=$gold.test.$2.tsv" \
        --seeds "$(IFS=,; echo "${seeds[*]}")" "${classifier[@]}" "${@:4}"
}
