# Sourced: `device` holds the options of fairseq-train for the processor that DEVICE names, cpu (the
# default) or cuda, in bf16 where it computes in that; `device_plain` holds those in fp32.
case ${DEVICE:-cpu} in
cpu) device=(--cpu --cpu-precision auto) device_plain=(--cpu) ;;
cuda)
    found=$(python -c 'from fairseq_xling.engine.precision import device_options
print(*device_options("auto", "cuda"))')
    read -ra device <<<"$found"
    device_plain=()
    ;;
*)
    echo "DEVICE must be cpu or cuda, got '$DEVICE'" >&2
    exit 2
    ;;
esac
