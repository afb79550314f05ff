"""Known holes in the locked versions, as far as their server answers; exit status 1 for a finding, not for silence."""

from __future__ import annotations

import json
import subprocess
import sys

OPTIONS = ["-r", "requirements.lock", "--require-hashes", "--disable-pip", "--format", "json"]
COMMAND = [sys.executable, "-m", "pip_audit", *OPTIONS]


def main() -> int:
    try:
        done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=120)
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        print("advisories: not checked, their server cannot be reached from here")
        return 0
    checked = [each for each in packages if "skip_reason" not in each]
    holes = [(each, hole) for each in checked for hole in each["vulns"]]
    print(f"advisories: {len(checked)} of {len(packages)} locked packages could be checked, {len(holes)} findings")
    for each, hole in holes:
        repaired = ", ".join(hole["fix_versions"]) or "nothing yet"
        print(f"  {each['name']} {each['version']}: {hole['id']}, repaired in {repaired}")
    return int(bool(holes))


if __name__ == "__main__":
    sys.exit(main())
