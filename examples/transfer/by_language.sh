# For scripts that source it: one option for several languages.

by_language() { # PATTERN LANG...: LANG=FILE,...; {} in the pattern is the language
    local pattern=$1 lang items=()
    shift
    for lang in "$@"; do items+=("$lang=${pattern//\{\}/$lang}"); done
    (IFS=,; echo "${items[*]}")
}
