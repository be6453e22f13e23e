# Sourced by scripts that carry out a command only where what it writes is missing, read a part of a
# text, or gather what a study left in many places.
once() { # FILE_OR_FOLDER COMMAND...: the file or folder is written by the command
    [ -e "$1" ] || "${@:2}"
}
put() { # FILE COMMAND...: what the command prints, whole or not at all
    [ -f "$1" ] || { "${@:2}" > "$1.part" && mv "$1.part" "$1"; }
}
lines() { # FILE CONDITION [OPTIONS of awk]: of a file, compressed or not, those with CONDITION in awk
    gzip -dcf "$1" | awk "${@:3}" "$2"
}
gather() { # FOLDER FILE...: copies of those files that exist, as none does after --dry-run
    local file
    for file in "${@:2}"; do
        [ ! -f "$file" ] || { mkdir -p "$1" && cp "$file" "$1/"; }
    done
}
