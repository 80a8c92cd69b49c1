#!/bin/sh
# Make or refresh .venv: `run` (what kb needs, with numpy) or `dev` (and what tests it). Prints nothing when all is well.
# A stamp of the lock, pyproject.toml and the interpreter makes a second call a matter of milliseconds.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-run}
lock="requirements/$kind.lock"
[ -f "$lock" ] || { echo "usage: scripts/environment.sh run|dev" >&2; exit 2; }

say() { echo "$*" >&2; }

find_python() {
    for name in ${KB_PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    say "kb needs Python 3.11 or newer and found none."
    say "On Debian 12 or Ubuntu 24.04: apt-get install python3 python3-venv.  Another one: KB_PYTHON=/path/to/python $0"
    exit 2
}

stamp_of() {
    { cat "requirements/$1.lock" pyproject.toml; "$python" -VV; pwd; } | cksum
}

fresh() { # is .venv what $1 asks for?
    [ -x .venv/bin/python ] && [ -f ".venv/stamp-$1" ] && [ "$(cat ".venv/stamp-$1")" = "$(stamp_of "$1")" ]
}

python=$(find_python)
fresh dev && exit 0
[ "$kind" = run ] && fresh run && exit 0

rm -rf .venv && mkdir -p .cache
if ! "$python" -m venv .venv >.cache/venv.log 2>&1; then
    cat .cache/venv.log >&2
    say ""
    say "Python cannot make virtual environments here. On Debian and Ubuntu: apt-get install python3-venv"
    rm -rf .venv
    exit 2
fi
say "Installing the $kind environment into .venv (once) ..."
pip=".venv/bin/python -m pip -qq --disable-pip-version-check --no-input install"
$pip --require-hashes -r "$lock"
$pip --no-deps --no-build-isolation --editable .
stamp_of "$kind" >".venv/stamp-$kind"
