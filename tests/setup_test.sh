#!/bin/bash
# Every package that scripts/setup would install is there on this system, which is a bare one of those that it supports:
# scripts/bare-root SUITE --bind scripts:/opt/scripts --bind tests:/tests /tests/setup_test.sh. Nothing is installed.
set -euo pipefail
printf '#!/bin/sh\n[ "$1" = install ] && set -- "$@" --simulate\nexec /usr/bin/apt-get "$@"\n' > /usr/local/bin/apt-get
chmod +x /usr/local/bin/apt-get
for what in "" --python --test; do
  said=$(/opt/scripts/setup $what 2>&1) || { echo "$said"; exit 1; }
  grep -q '^Inst g++ ' <<< "$said" || { echo "setup: no compiler is installed: $said"; exit 1; }
  [[ -z $what ]] || grep -q '^Inst python3-venv ' <<< "$said" || { echo "setup: $what installs no Python: $said"; exit 1; }
done
echo "setup: has all its packages on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
