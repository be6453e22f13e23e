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
