# For the scripts of this folder, which read it in.
quietly() { # LOG COMMAND...: what it prints goes to the log, the end of that here if it fails
    "${@:2}" >"$1" 2>&1 || { echo "see $1:" >&2; tail -n 3 "$1" >&2; return 1; }
}
