#!/usr/bin/env bash
# The paper's ablations on the embedded corpus, from the encoder of 1_synthetic.sh (run that first).
#   examples/trelm/4_studies.sh [RUN_FOLDER_OF_1] [further options of all studies]
# If interrupted, the same command resumes. STUDIES names those to run. The figures of README.md are with
# `--seeds 1,2,3 --commonality-steps 200 --transfer-steps 500 --language-steps 200`, those of `baselines`
# with half as many, those of `objectives-long` with a last phase of four times a direction of the transfer.
# These two, `baselines-small` and `compensated` train no head beside the objectives; the others have
# `--auxiliary order --orderings identity,predicted,oracle`, a head that rows with CdLM alone train.
# `baselines-small` is `LIMIT=0 STUDIES=baselines` with `--rows migrated,small-bert --small-steps 2`.
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
run=${1:-runs/trelm/synthetic}
shift || true
studies=${STUDIES:-init objectives objectives-long parallel compensated baselines}

# Maps of small vocabularies: three seeds, a minute each.
maps="--batch 128 --hidden 512 --beta 0.01 --epoch-size ${MAP_WORDS:-50000}"
for study in $studies; do
    own=()
    case $study in
        init) own=(--map-seeds 1,2,3 --map-args "$maps") ;;
        parallel) own=(--sizes "${SIZES:-1000,2500,5000,10000,20000}") ;;
        objectives-long)
            own=(--rows cdlm,tlm,brlm-mask,brlm-attn --tasks pos,parsing --orderings identity
                --translate-both) ;;
        compensated) # semantic roles, as in the paper
            frames=$run-frames/frames
            [ -d "$run-frames" ] || python "$here/../transfer/arrange_structures.py" frames \
                "$run-text" "$run-frames"
            own=(--tasks pos,parsing --orderings "" --task-head srl
                --task-train "de=$frames.train.de.conll" --task-valid "de=$frames.valid.de.conll"
                --task-test "de=$frames.test.de.conll") ;;
        baselines) # a migration with a fifth of the text that the large BERT reads
            own=(--tasks nli,parsing --orderings "" --small-steps 1
                --small-model "${SMALL:---arch separable_transformer_tiny}")
            for phase in commonality parallel language; do
                own+=("--$phase-limit" "${LIMIT:-4000}")
            done ;;
    esac
    fairseq-xling ablate "trelm-${study%-long}" --config "$here/synthetic.yaml" --text "$run-text" \
        --source "$run-source/checkpoints/checkpoint_best.pt" --output "$run-$study" \
        --autoregressive no "${own[@]}" "$@"
done
if [[ " $studies " == *" init "* ]]; then # what the adversarial maps of A.1 found
    gather "$run-maps" "$run-init"/vectors/map-*.json
fi
