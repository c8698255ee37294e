"""How many requests a second a served drive answers beside nbdkit's memory plugin, which has no drive in it.

fio's NBD engine reads 4 KiB at random from one and the other in turns, at depths 1 and 32. `make bench-serve`; needs
fio and nbdkit. Usage: ``bench_serve.py SSDLAB [WORD ...]``: further words go to `ssdlab serve`.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEPTHS = (1, 32)
TURNS = 5
REQUESTS = 40_000
PATIENCE_S = 30.0


def rate(server: list[str], socket: Path, depth: int) -> float:
    """Requests a second that fio has answered by a server, which it starts and ends."""
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as serving:
        try:
            begun = time.monotonic()
            while not socket.exists():
                if serving.poll() is not None or time.monotonic() - begun > PATIENCE_S:
                    serving.kill()
                    said = serving.stderr.read().decode() if serving.stderr else ""
                    sys.exit(f"error: {' '.join(server)}: {said}")
                time.sleep(0.01)
            job = ["--name=job", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={socket}", "--rw=randread", "--bs=4k"]
            limits = [f"--iodepth={depth}", "--size=1g", f"--number_ios={REQUESTS}", "--output-format=json"]
            done = subprocess.run(["fio", *job, *limits], check=True, capture_output=True, text=True)
            return float(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]["iops"])
        finally:
            serving.terminate()
            serving.wait()
            socket.unlink(missing_ok=True)


def main() -> None:
    """Prints a line a depth."""
    for program in ("fio", "nbdkit"):
        if shutil.which(program) is None:
            sys.exit(f"error: {program} is not here\n  help: apt-get install {program}")
    ssdlab, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "socket"
        memory = ["nbdkit", "--foreground", "--exit-with-parent", "--unix", str(socket), "memory", "1G"]
        drive = [ssdlab, "serve", "--quiet", "--socket", str(socket), *words]
        for depth in DEPTHS:
            turns = [(rate(memory, socket, depth), rate(drive, socket, depth)) for _ in range(TURNS)]
            ratios = sorted(own / other for other, own in turns)
            print(
                f"depth {depth}: nbdkit {statistics.median(other for other, _ in turns):,.0f} requests/s, "
                f"ssdlab {statistics.median(own for _, own in turns):,.0f}; ssdlab / nbdkit in turns "
                f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
