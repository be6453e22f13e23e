"""What reading sentence pairs for CdLM takes of a process's memory; one process per measurement.

    python benchmarks/cdlm_memory.py DATA iterator 300     peak while 300 batches are made
    python benchmarks/cdlm_memory.py DATA lists 2000       2000 pairs kept as padded Python lists

Prints JSON: megabytes above those of the imports, of the process's own memory and of mapped files.
"""

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.meta import describe_files
from fairseq_xling.data.mmap import TokenFile, write_index

LONGEST = 512


def resident() -> tuple[float, float]:
    """Megabytes of this process: its own, and of mapped files (which the system may drop)."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return psutil.Process().memory_info().rss / 1e6, 0.0
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    return tuple(int(fields[name].split()[0]) / 1e3 for name in ("RssAnon", "RssFile"))


def iterate(data: Path, batches: int, watch: Callable[[], None]) -> None:
    """Make ``batches`` batches in virtual epochs of 100 updates, as a training reads them."""
    from cdlm_systems import Setting, configuration
    from fairseq import tasks

    setting = Setting(data, 2, 16, 2, 128, 0.1, 0, 1, LONGEST, "cpu")
    cfg = configuration(setting, "--batch-size", "128", "--epoch-updates", "100")
    task = tasks.setup_task(cfg.task)
    task.build_model(cfg.model)
    watch()
    task.load_dataset("train")
    epochs = task.get_batch_iterator(task.dataset("train"), max_sentences=128, epoch=1)
    made = 0
    while made < batches:
        for _ in epochs.next_epoch_itr():
            made += 1
            watch()


def keep_lists(data: Path, pairs: int, watch: Callable[[], None]) -> None:
    """Keep pairs as the released code keeps its examples: Python lists padded to 512.

    Of what it keeps only source ids, order and target ids; it has masks and segments as well.
    """
    folder = DataFolder(data)
    source, target = folder.parallel("train", *folder.pairs("train")[0])
    order = folder.order("train", *folder.pairs("train")[0])
    watch()
    kept = []
    for number in range(pairs):
        for file in (source, order, target):
            ids = file[number % len(file)].tolist()[:LONGEST]
            kept.append(ids + [1] * (LONGEST - len(ids)))
    watch()


def repeat(data: Path, target: Path, pairs: int) -> None:
    """A data folder of ``pairs`` pairs: those of ``data`` over and over. Done once."""
    done = target / "meta.json"
    if done.is_file() and read_json(done).get("repeated") == pairs:
        return
    shutil.rmtree(target, ignore_errors=True)
    (target / "parallel").mkdir(parents=True)
    meta = read_json(data / "meta.json")
    for name in meta["dictionaries"]:
        shutil.copy(data / name, target / name)
    pair = DataFolder(data).pairs("train")[0]
    stem = f"train.{'-'.join(pair)}"
    for suffix in (*pair, "order"):
        file = TokenFile(data / "parallel" / f"{stem}.{suffix}")
        place = target / "parallel" / f"{stem}.{suffix}"
        whole, rest = divmod(pairs, len(file))
        tail = int(file.sizes[:rest].sum())
        sizes = place.with_name(place.name + ".sizes")
        with open(f"{place}.bin", "wb") as tokens, open(sizes, "wb") as counts:
            for _ in range(whole):
                tokens.write(file.tokens.tobytes())
                counts.write(file.sizes.astype("<i4").tobytes())
            tokens.write(file.tokens[:tail].tobytes())
            counts.write(file.sizes[:rest].astype("<i4").tobytes())
        write_index(place, sizes, file.dtype)
        sizes.unlink()
    meta |= {"mono": {}, "repeated": pairs}
    meta["parallel"] = {"train": {"-".join(pair): {"pairs": pairs}}}
    written = [str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()]
    meta["files"] = describe_files(target, written)
    write_json(done, meta)


def probe(data: Path, what: str, count: int) -> dict[str, float]:
    """One measurement in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, str(data), what, str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    data, what, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    logging.disable(logging.INFO)
    seen: list[tuple[float, float]] = []
    measure = {"iterator": iterate, "lists": keep_lists}[what]
    measure(data, count, lambda: seen.append(resident()))
    before = seen[0]  # when all is imported and nothing read
    own, mapped = (max(sample[n] for sample in seen) - before[n] for n in range(2))
    print(json.dumps({"own": own, "mapped": mapped}))


if __name__ == "__main__":
    main()
