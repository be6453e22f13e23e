#!/usr/bin/env bash
# Relations and roles on trees, trained in some languages and tested in others.
#   examples/transfer/5_structures.sh synthetic [RUN_FOLDER] [further options of struct matrix]
#   examples/transfer/5_structures.sh kbp37 DATA ENCODER PARSER [RUN_FOLDER] [further options]
# synthetic: the embedded corpus, 4 x 4 languages and all pairs of them, about half an hour on one core,
# needs nothing.
# kbp37: English relations (KBP37), about 30 minutes on one core. ENCODER is the folder of
# encoder.sh, PARSER a checkpoint with the head `parsing_pos` on that encoder. 3,000 training records of
# 15,917 (RECORDS), 750 of dev and test each. Rows: the words and mentions alone (no layers); their
# order (BiLSTM); a classification head with which the same encoder is fine-tuned; and the tree,
# compared with the others.
# If interrupted, the same command resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/by_language.sh"
which=${1:?synthetic or kbp37}
shift

if [ "$which" = synthetic ]; then
    run=${1:-runs/transfer/structures}
    shift || true
    text=$run-text gold=$run-text/gold/structures languages=(en de zh id)
    if [ ! -f "$text/provenance.json" ]; then
        fairseq-xling synthesize "$text" --languages en,de,zh,id --sentences 2000 --held-out 200 \
            --structures "${STRUCTURES:-400}" --spaced
    fi
    python "$here/arrange_structures.py" vectors "$text" "$run-vectors"
    vectors=$run-vectors
    matrix() { # NAME [options]
        local name=$1
        shift
        fairseq-xling struct matrix --config "$here/structures.yaml" \
            --train "$(by_language "$gold.train.{}.jsonl" "${languages[@]}")" \
            --valid "$(by_language "$gold.valid.{}.jsonl" "${languages[@]}")" \
            --test "$(by_language "$gold.test.{}.jsonl" "${languages[@]}")" \
            --vectors "$(by_language "$vectors/{}.vec" "${languages[@]}")" \
            --output "$run/structures-$name" "$@"
    }
    for task in relations roles; do matrix "$task" --task "$task" "$@"; done
    # Does a second language help, beside the better of the two alone?
    matrix two-sources --task roles --networks gcn \
        --sources en,de,zh,id,en+de,en+zh,en+id,de+zh,de+id,zh+id "$@"
else
    data=${1:?the folder of real data}
    encoder=${2:?the folder of encoder.sh}
    parser=${3:?a checkpoint with the head parsing_pos}
    run=${4:-runs/transfer/kbp37}
    shift 3; shift || true
    files=$run-files
    python "$here/arrange_structures.py" kbp37 "$data" "$files" --records "${RECORDS:-3000}"
    checkpoint=$encoder/checkpoints/checkpoint_best.pt
    evaluate() { # NAME [options]
        local name=$1
        shift
        fairseq-xling struct matrix --config "$here/kbp37.yaml" --train "en=$files/train.txt" \
            --valid "en=$files/dev.txt" --test "en=$files/test.txt" --encoder "$checkpoint" \
            --encoder-data "$encoder/data" --output "$run/kbp37-$name" "$@"
    }
    evaluate words --networks gcn --layers 0 --features word,entity "$@"
    evaluate order --networks lstm --features word,entity "$@"
    fairseq-xling eval transfer --encoder "six-languages=$checkpoint" --data "$encoder/data" \
        --head classification --columns text=0,label=1 --train "en=$files/train.tsv" \
        --valid "en=$files/dev.tsv" --test "en=$files/test.tsv" --lrs 3e-4 --batch-sizes 32 \
        --epochs "${EPOCHS:-8}" --seeds "${SEEDS:-1,2,3}" --output "$run/kbp37-accuracy"
    python "$here/arrange_structures.py" head "$run/kbp37-accuracy" "$run/kbp37-head" \
        --files "$files"
    evaluate tree --networks gcn --trees "$parser" --trees-data "$encoder/data" \
        --compare "$run/kbp37-words" --compare "$run/kbp37-order" --compare "$run/kbp37-head" "$@"
fi
