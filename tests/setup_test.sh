#!/bin/bash
# Checks that every package that scripts/setup would install exists on this system, a bare one of those that it
# supports: scripts/bare-root SUITE --bind scripts:/opt/scripts --bind tests:/tests /tests/setup_test.sh. Nothing is
# installed.
set -euo pipefail
# scripts/setup shows apt's lines only if it fails.
cat > /usr/local/bin/apt-get <<'END'
#!/bin/bash
if [[ " $* " == *" install "* ]]; then exec /usr/bin/apt-get "$@" --simulate > /tmp/simulated; fi
exec /usr/bin/apt-get "$@"
END
chmod +x /usr/local/bin/apt-get
for what in "" --python --test --mpi; do
  said=$(/opt/scripts/setup $what 2>&1) || { echo "$said"; exit 1; }
  if [[ $what == --mpi ]]; then
    grep -q '^Inst openmpi-bin ' /tmp/simulated || { echo "setup: --mpi installs no Open MPI: $said"; exit 1; }
    continue
  fi
  grep -q '^Inst g++ ' /tmp/simulated || { echo "setup: no compiler is installed: $said"; exit 1; }
  [[ -z $what ]] || grep -q '^Inst python3-venv ' /tmp/simulated || { echo "setup: $what installs no Python: $said"; exit 1; }
done
echo "setup: has all its packages on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
