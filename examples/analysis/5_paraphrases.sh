#!/usr/bin/env bash
# Two English encoders compared on the same sentences, on paraphrases of them, and on paraphrases in
# another order. Paraphrases are English sentences of Tatoeba with the same Chinese translation; the
# encoders are trained on the other sentences.
#   examples/analysis/5_paraphrases.sh DATA [RUN_FOLDER] [further options of ablate]
# DATA holds tatoeba_en-zh. HELD_OUT (default 1000) pairs of paraphrases each are for maps and for
# the test. About a quarter of an hour on one core. If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder of real data}
run=${2:-runs/analysis/paraphrases}
text=$run-text
shift $(($# > 1 ? 2 : 1))

if [ ! -f "$text/test.shuffled" ]; then
    python "$here/arrange_paraphrases.py" "$data/tatoeba_en-zh/cmn.txt.gz" "$text" \
        --held-out "${HELD_OUT:-1000}"
fi
mkdir -p "$run"
# One study, so that all three read the same encoders; each result is kept under its own name.
for second in same paraphrases shuffled; do
    given=()
    [ $second = same ] ||
        given=(--paraphrase "valid=$text/valid.$second,test=$text/test.$second")
    [ -f "$run/$second.json" ] || {
        fairseq-xling ablate similarity --config "$here/paraphrases.yaml" --output "$run-study" \
            --data-text "$text" "${given[@]}" "$@"
        cp "$run-study/plot-en-en_2.svg" "$run/$second.svg"
        cp "$run-study/results.json" "$run/$second.json"
    }
done
