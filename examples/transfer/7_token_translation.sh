#!/usr/bin/env bash
# Token translation and transfer by the mean difference of two languages, of encoders that have only
# seen text of each. Needs no data; about half an hour on 2 idle cores.
#   examples/transfer/7_token_translation.sh [RUN_FOLDER] [further options of ablate]
# If interrupted, the same command resumes. JOBS (default 2) steps run at a time.
set -euo pipefail
here=$(dirname "$0")
. "$here/../once.sh"
run=${1:-runs/transfer/token-translation}
shift || true

once "$run-text/provenance.json" fairseq-xling synthesize "$run-text" --languages en,de,id \
    --sentences "${SENTENCES:-10000}" --held-out "${HELD_OUT:-1000}" \
    --annotated "${ANNOTATED:-2000}"
fairseq-xling ablate token-translation --config "$here/token_translation.yaml" --output "$run" \
    --data-text "$run-text" --jobs "${JOBS:-2}" "$@"
