"""Times outlines beside universal-ctags. Arguments: the outlines program, then a file with a list of paths.

Prints the seconds of the clock and of the processors: on a busy machine only the second tell the programs apart.
"""

import resource
import subprocess
import sys
import time


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
        "outlines": [program, "--time", "--threads", "2", "--outline"],
        "outlines and references": [program, "--time", "--threads", "2"],
    }
    for turn in range(1, 4):
        base = None
        for name, command in programs.items():
            output, clock, spent = run(command, listing)
            base = base or (clock, spent)
            what = f"{len(output.splitlines())} tags" if name == "ctags" else output.decode().strip()
            print(f"round {turn}, {name}: {clock:.2f} s, {spent:.2f} s of processors; ctags' time is "
                  f"{base[0] / clock:.2f} and {base[1] / spent:.2f} times that; {what}", flush=True)


main()
