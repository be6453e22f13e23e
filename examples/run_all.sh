#!/usr/bin/env bash
# Every run behind the pages of these folders, one after the other, and then the pages themselves.
#   examples/run_all.sh [RUN_FOLDER] [NAME ...]
# DATA names the folder of real data; without it, only the runs on the embedded corpus are made. NAMEs
# choose some of the runs (default: all); LIST=1 prints names and commands and stops. What is finished
# is not run again, what was interrupted resumes; RUN_FOLDER/times.tsv has the minutes that each call
# took, RUN_FOLDER/logs what each printed. JOBS (default 2) steps run at a time. PARSER names a
# checkpoint with the head `parsing_pos` on the encoder of transfer-encoder, which KBP37 needs.
# trelm-xlm needs transformers (extra `benchmarks`). All of it is about two days on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-runs/all}
shift || true
chosen=" $* "
known=" "
data=${DATA:-}
mkdir -p "$runs/logs"
runs=$(cd "$runs" && pwd)
failed=()

run() { # NAME COMMAND...
    local name=$1 began=$SECONDS
    shift
    known+="$name "
    [ "$mode" != names ] || return 0
    [[ $chosen == "  " || $chosen == *" $name "* ]] || return 0
    if [ "$mode" = list ]; then echo "$name: ${*/#$here/examples}"; return 0; fi
    if [ -f "$runs/logs/$name.done" ]; then echo "$name: finished before"; return 0; fi
    echo "$name: $runs/logs/$name.log"
    if "$@" >> "$runs/logs/$name.log" 2>&1; then
        touch "$runs/logs/$name.done"
    else
        tail -n 3 "$runs/logs/$name.log" >&2
        failed+=("$name")
    fi
    printf '%s\t%s\n' "$name" "$(((SECONDS - began + 30) / 60))" >> "$runs/times.tsv"
}
on_data() { [ -z "$data" ] || run "$@"; }

every() {
    run emerging-synthetic "$here/emerging_structure/1_synthetic.sh" "$runs/emerging/synthetic"
    run trelm-synthetic "$here/trelm/1_synthetic.sh" "$runs/trelm/synthetic"
    run trelm-studies "$here/trelm/4_studies.sh" "$runs/trelm/synthetic"
    run trelm-transfers "$here/trelm/8_transfers.sh" "$runs/trelm/synthetic"
    run trelm-xlm "$here/trelm/6_xlm.sh" "$runs/trelm/synthetic-xlm"
    run analysis-synthetic "$here/analysis/1_synthetic.sh" "$runs/analysis/synthetic"
    run clcr-synthetic "$here/clcr/1_synthetic.sh" "$runs/clcr/synthetic"
    run clcr-probing "$here/clcr/4_probing.sh" "$runs/clcr/synthetic"
    run clcr-pairs "$here/clcr/5_pairs.sh" "$runs/clcr/synthetic" "$runs/clcr/pairs"
    run clcr-sentence "$here/clcr/6_sentence.sh" "$runs/clcr/synthetic" "$runs/clcr/pairs" \
        "$runs/clcr/sentence"
    run clcr-readings "$here/clcr/7_readings.sh" "$runs/clcr/synthetic" "$runs/clcr/readings"
    run clcr-multilingual "$here/clcr/8_multilingual.sh" "$runs/clcr/synthetic" \
        "$runs/clcr/multilingual"
    run clcr-mismatched "$here/clcr/3_mismatched.sh" "$runs/clcr/mismatched"
    run transfer-synthetic "$here/transfer/1_synthetic.sh" "$runs/transfer/synthetic"
    run transfer-cdlm "$here/transfer/3_cdlm.sh" "$runs/transfer/cdlm"
    run transfer-adversarial env DATA= "$here/transfer/4_adversarial.sh" \
        "$runs/transfer/adversarial-synthetic"
    run transfer-twice env DATA= TWICE=yes "$here/transfer/4_adversarial.sh" \
        "$runs/transfer/adversarial-twice"
    run transfer-structures "$here/transfer/5_structures.sh" synthetic "$runs/transfer/structures"
    run transfer-measures "$here/transfer/6_measures.sh" "$runs/transfer/measures"
    run transfer-token-translation "$here/transfer/7_token_translation.sh" \
        "$runs/transfer/token-translation"
    run transfer-mapped-layers "$here/transfer/8_mapped_layers.sh" "$runs/analysis/synthetic" \
        "$runs/transfer/mapped-layers"

    on_data emerging-multi30k "$here/emerging_structure/2_multi30k.sh" "$data" "$runs/emerging/multi30k"
    on_data trelm-multi30k "$here/trelm/2_multi30k.sh" "$data/multi30k" "$runs/trelm/multi30k"
    on_data trelm-minilm "$here/trelm/3_minilm.sh" "$data/multi30k" "$runs/trelm/minilm"
    on_data trelm-translators env TARGET=de ENCODER=minilm "$here/trelm/5_translators.sh" \
        "$data/multi30k" "$runs/trelm/translators"
    on_data trelm-languages "$here/trelm/7_languages.sh" "$data" "$runs/trelm/translators"
    on_data trelm-translators-parts env TARGET=fr ENCODER=small "$here/trelm/5_translators.sh" \
        "$data/multi30k" "$runs/trelm/translators-parts" --slot-beam 1 --translator-steps 700 \
        --rows ctc,ctc-scratch,ctc-glancing,ctc-teacher,ctc-all,lattice,lattice-teacher,lattice-all \
        --teacher "$runs/trelm/translators-fr-teacher.pt" --autoregressive no \
        --autoregressive-lenpens ""
    on_data trelm-word-maps "$here/trelm/9_word_maps.sh" "$data" "$runs/trelm/word-maps"
    on_data transfer-encoder "$here/transfer/encoder.sh" "$data" "$runs/transfer/encoder"
    on_data transfer-real "$here/transfer/2_real.sh" "$data" "$runs/transfer/encoder" \
        "$runs/trelm/minilm" "$runs/transfer/real"
    on_data transfer-wikiann env DATA="$data" "$here/transfer/4_adversarial.sh" \
        "$runs/transfer/adversarial-wikiann"
    on_data transfer-wikiann-twice env DATA="$data" TWICE=yes "$here/transfer/4_adversarial.sh" \
        "$runs/transfer/adversarial-wikiann-twice"
    on_data transfer-word-maps "$here/transfer/9_word_maps.sh" "$data" "$runs/transfer/word-maps"
    on_data transfer-long-context "$here/transfer/10_long_context.sh" "$data" \
        "$runs/transfer/long-context"
    on_data analysis-six-languages "$here/analysis/2_six_languages.sh" "$data" \
        "$runs/transfer/encoder" "$runs/analysis/six-languages"
    on_data analysis-minilm "$here/analysis/3_minilm.sh" "$data" "$runs/analysis/minilm"
    on_data analysis-measures "$here/analysis/4_measures.sh" "$data" "$runs/trelm/translators" \
        combine-de-1-ctc.pt "$runs/analysis/measures"
    on_data analysis-paraphrases "$here/analysis/5_paraphrases.sh" "$data" \
        "$runs/analysis/paraphrases"
    if [ -n "${PARSER:-}" ]; then
        on_data transfer-kbp37 "$here/transfer/5_structures.sh" kbp37 "$data" \
            "$runs/transfer/encoder" "$PARSER" "$runs/transfer/kbp37"
    fi
    on_data clcr-minilm "$here/clcr/2_minilm.sh" "$data" "$runs/clcr/minilm"
}

mode=names
every
for name in "$@"; do
    [[ $known == *" $name "* ]] || {
        echo "examples/run_all.sh: NAME must be one of$known(more with DATA), got '$name'" >&2
        exit 2
    }
done
mode=${LIST:+list}
every
[ "$mode" != list ] || exit 0
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}; the same command resumes" >&2
    exit 1
fi

page() { # FOLDER RUN...: README.md of a folder, from runs relative to RUN_FOLDER
    local folder=$1 one finished=()
    shift
    for one in "$@"; do
        if compgen -G "$runs/$one/*.json" > /dev/null; then
            finished+=("$runs/$one")
        else
            echo "$folder/README.md: nothing new of $one, which is not finished"
        fi
    done
    python "$here/$folder/make_readme.py" "${finished[@]}"
}
page emerging_structure emerging/{synthetic,multi30k}
page trelm trelm/synthetic{,-init,-maps,-objectives{,-long},-parallel,-compensated,-baselines,-transfers,-xlm} \
    trelm/word-maps{,-found} trelm/{multi30k,minilm,translators{,-parts,-de,-fr,-zh,-ja}}
page analysis analysis/{synthetic,six-languages,minilm,measures,paraphrases}
page clcr clcr/{synthetic,synthetic/measures,pairs,readings,readings-measures,multilingual-measures,sentence,mismatched,minilm}
page transfer transfer/{synthetic,cdlm/{trained-encoders,new-weights}} \
    transfer/cdlm/{fine-tuned-{nli,ner,parsing},understanding-{cmnli,chid,cmrc,c3}} \
    transfer/adversarial-{synthetic,twice,wikiann{,-twice}} transfer/structures/structures-{relations,roles,two-sources} \
    transfer/real/{ner,pos,parsing,nli,slots,intents,ner-migrated,pos-migrated} \
    transfer/kbp37/kbp37-{words,order,head,tree} transfer/{measures,word-maps,long-context,token-translation,mapped-layers}
