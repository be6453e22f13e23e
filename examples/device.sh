# Sourced: `device` are the options of fairseq-train for the processor that DEVICE names, cpu (the
# default; bf16 where the processor computes in it) or cuda (bf16); `device_plain` are those in fp32.
case ${DEVICE:-cpu} in
cpu) device=(--cpu --cpu-precision auto) device_plain=(--cpu) ;;
cuda) device=(--bf16) device_plain=() ;;
*)
    echo "DEVICE must be cpu or cuda, got '$DEVICE'" >&2
    exit 2
    ;;
esac
