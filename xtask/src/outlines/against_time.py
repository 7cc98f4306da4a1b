"""Times outlines beside universal-ctags. Arguments: the outlines program, then a file with a list of paths.

Each program reads the same files three times, in turn; the best of each counts. Prints the seconds of the clock and of
the processors: on a busy machine only the second tell the programs apart. Ends with 1 if ctags is faster.
"""

import os
import resource
import subprocess
import sys
import time

CORES = 2


def run(command, listing):
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    output = subprocess.run(command, stdin=open(listing, "rb"), capture_output=True, check=False).stdout
    clock, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return output, clock, spent


def main():
    program, listing = sys.argv[1:]
    ctags = ["ctags", "--fields=+neKSZ", "--output-format=json", "-f", "-", "-L", "-"]
    programs = {
        "ctags": ctags,
        "outlines": [program, "--time", "--threads", str(CORES), "--outline"],
        "outlines and references": [program, "--time", "--threads", str(CORES)],
    }
    best = {}
    for turn in range(1, 4):
        for name, command in programs.items():
            output, clock, spent = run(command, listing)
            what = f"{len(output.splitlines())} tags" if name == "ctags" else output.decode().strip()
            print(f"round {turn}, {name}: {clock:.2f} s, {spent:.2f} s of processors; {what}", flush=True)
            before = best.get(name, (clock, spent))
            best[name] = (min(before[0], clock), min(before[1], spent))
    print(f"\n| best of three; load {os.getloadavg()[0]:.1f} | clock | processors | on {CORES} idle cores |\n|---|---:|---:|---:|")
    for name, (clock, spent) in best.items():
        idle = spent if name == "ctags" else spent / CORES
        print(f"| {name} | {clock:.2f} s | {spent:.2f} s | {idle:.2f} s |")
    # The clock decides where nothing else runs; what a processor was used for decides otherwise.
    idle = os.getloadavg()[0] <= CORES + 1
    ours, theirs = best["outlines"], best["ctags"]
    faster = ours[0] < theirs[0] if idle else ours[1] / CORES < theirs[1]
    by = "the clock" if idle else "the time of processors"
    print(f"\nby {by}, outlines are {'faster' if faster else 'slower'} than ctags on {CORES} cores: "
          f"{theirs[0] / ours[0]:.2f} times as fast by the clock, {CORES * theirs[1] / ours[1]:.2f} times by processors")
    sys.exit(0 if faster else 1)


main()
