#!/bin/sh
# Write both lock files anew from pyproject.toml: exact versions with hashes, for every platform, naming no index.
# Needs uv. Upgrade everything: scripts/lock.sh --upgrade
set -eu
cd "$(dirname "$0")/.."
flags="--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header"
# shellcheck disable=SC2086
uv pip compile $flags "$@" --extra dev pyproject.toml -o requirements/dev.lock >/dev/null
# shellcheck disable=SC2086
uv pip compile $flags --extra fast -c requirements/dev.lock pyproject.toml requirements/build.in -o requirements/run.lock >/dev/null
if grep -nE '://|--(extra-)?index-url|--find-links' requirements/*.lock; then
    echo "a lock file names an index" >&2
    exit 1
fi
grep -c '==' requirements/*.lock
