#!/usr/bin/env bash
# Translators with slots from English to German, French, Chinese and Japanese, each from a small
# encoder and learning from an autoregressive model that it is compared with (5_translators.sh,
# teacher.sh).
#   examples/trelm/7_languages.sh DATA [RUN_FOLDER] [further options of the study]
# DATA holds the folders multi30k, tatoeba_en-zh (cmn.txt.gz) and small_parallel_enja. LANGUAGES ("de
# fr zh ja") are those to run; RUN_FOLDER-de and so on get their runs. ROWS
# (ctc-teacher,lattice-teacher) are translators of the study. STEPS (5600) are
# the updates of a translator. README.md's were also searched with a model of 4-grams and rescored, and
# their penalties tuned, which is no longer there. About two hours of one core for ctc-teacher in each language, three for
# lattice-teacher. If interrupted, the same command resumes. In README.md the teachers for German and
# Japanese, and the translators, were trained on an NVIDIA H100 with torch 2.11.0, as with DEVICE=cuda,
# the latter in fp16 (`--precision fp16`). To French translators-fr-lattice is with
# ROWS=lattice-teacher; those of translators-fr are of a processor, with ROWS=ctc-teacher STEPS=2800
# and `--translator-lr 5e-4`.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder with multi30k, tatoeba_en-zh and small_parallel_enja}
run=${2:-runs/trelm/translators}
shift; shift || true
export ENCODER=small
read -ra languages <<<"${LANGUAGES:-de fr zh ja}"

pairs_of() { # LANG: the folder with its sentence pairs
    case $1 in
    de | fr) echo "$data/multi30k" ;;
    ja) echo "$data/small_parallel_enja" ;;
    zh) echo "$run-zh-pairs" ;;
    *)
        echo "LANGUAGES must be some of de, fr, zh and ja, got '$1'" >&2
        return 2
        ;;
    esac
}
for language in "${languages[@]}"; do # what is missing is said before hours of work
    pairs=$(pairs_of "$language")
    needed=$pairs/train.$language.gz
    [ "$language" != zh ] || needed=$data/tatoeba_en-zh/cmn.txt.gz
    [ -f "$needed" ] || { echo "$needed: no such file; LANGUAGES names $language" >&2; exit 2; }
done

for TARGET in "${languages[@]}"; do
    export TARGET
    own=$run-$TARGET
    pairs=$(pairs_of "$TARGET")
    if [ "$TARGET" = zh ] && [ ! -f "$pairs/test.zh.gz" ]; then # the last that is written
        python "$here/split_pairs.py" "$data/tatoeba_en-zh/cmn.txt.gz" "$pairs" --languages en,zh
    fi
    [ -f "$own-teacher.pt" ] || "$here/teacher.sh" "$pairs" "$own" "$own-teacher.pt" "$@"
    "$here/5_translators.sh" "$pairs" "$own" --rows "${ROWS:-ctc-teacher,lattice-teacher}" \
        --teacher "$own-teacher.pt" --autoregressive no --translator-steps "${STEPS:-5600}" "$@"
done
