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
