# Sourced by scripts that carry out a command only where what it writes is missing.
once() { # FILE_OR_FOLDER COMMAND...: the file or folder is written by the command
    [ -e "$1" ] || "${@:2}"
}
put() { # FILE COMMAND...: what the command prints, whole or not at all
    [ -f "$1" ] || { "${@:2}" > "$1.part" && mv "$1.part" "$1"; }
}
