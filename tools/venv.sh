#!/bin/sh
# Bring the virtual environment to what the lock files say, and the project into it.
#
# Usage: tools/venv.sh runtime|dev PYTHON VENV
#
# What stands in the environment is recorded in it, each record written after the step it is for:
# a second run finds everything in place and ends at once, an interrupted one goes on where it
# was, and one that was made from another lock or by another interpreter is made anew.
set -eu

level=$1 python=$2 venv=$3
records=$venv/.octavo

say() { printf 'octavo: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# same NAME VALUE: the record NAME holds VALUE.
same() { [ -f "$records/$1" ] && [ "$(cat "$records/$1")" = "$2" ]; }
record() { printf '%s\n' "$2" >"$records/$1.new" && mv "$records/$1.new" "$records/$1"; }
sum() { cat "$@" | cksum; }
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input --quiet --quiet "$@"; }

command -v "$python" >/dev/null 2>&1 ||
    fail "there is no command '$python': install Python 3.11 or newer, or name one with PYTHON=..."
# The interpreter below any virtual environment that may be active: the record is the same inside
# and outside of it, and an environment is never asked to replace itself.
probe='import sys
print(getattr(sys, "_base_executable", sys.executable))
print("%s %d.%d.%d" % ((getattr(sys, "base_prefix", sys.prefix),) + sys.version_info[:3]))
print(sys.version_info >= (3, 11))'
probed=$("$python" -c "$probe") || fail "'$python' does not start: name another with PYTHON=..."
interpreter=$(printf '%s\n' "$probed" | sed -n 1p)
identity=$(printf '%s\n' "$probed" | sed -n 2p)
version=${identity##* }
[ "$(printf '%s\n' "$probed" | sed -n 3p)" = True ] ||
    fail "Python 3.11 or newer is needed, and '$python' is Python $version: name another with PYTHON=..."

# Debian keeps what makes a virtual environment in a package of its own.
need_ensurepip() {
    if "$interpreter" -c 'import ensurepip' 2>/dev/null; then return; fi
    package=$("$interpreter" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    advice="Python's module ensurepip is missing: install the package $package, then try again"
    command -v apt-get >/dev/null 2>&1 || fail "$advice"
    if [ "$(id -u)" -eq 0 ]; then
        sudo=
    elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo=sudo
    else
        fail "$advice"
    fi
    say "installing the package $package, which makes virtual environments"
    if ! output=$({ $sudo apt-get update -qq &&
        $sudo env DEBIAN_FRONTEND=noninteractive \
            apt-get install -qq -y --no-install-recommends "$package"; } 2>&1); then
        printf '%s\n' "$output" >&2
        fail "$advice"
    fi
    "$interpreter" -c 'import ensurepip' 2>/dev/null ||
        fail "the package $package is not for '$interpreter': name another with PYTHON=..."
}

make_venv() {
    need_ensurepip
    say "making $venv with Python $version"
    rm -rf "$venv"
    "$interpreter" -m venv "$venv"
    mkdir "$records"
    record python "$identity"
}

# install_lock LEVEL LOCK SUM: what the lock names and nothing else, each file checked by its hash.
install_lock() {
    say "installing what $2 names (a minute or less)"
    # Most modules that the checks install are never imported; the others are compiled then.
    compile=$([ "$1" = runtime ] || printf -- --no-compile)
    pip install $compile --require-hashes --no-deps --only-binary :all: --requirement "$2"
    record "$1" "$3"
}

install_project() {
    pip install --no-build-isolation --no-deps --editable packages/greenroom \
        --editable packages/client --editable packages/antechamber --editable .
    record project "$project"
}

runtime=$(sum requirements.lock)
dev=$(sum requirements.lock requirements-dev.lock)
project=$(sum pyproject.toml octavo/__init__.py packages/*/pyproject.toml packages/*/src/*/__init__.py)

# outdated LEVEL SUM: the level is installed, but from another lock. Packages that the lock names
# no longer must go, which only a new environment makes sure of.
outdated() { [ -f "$records/$1" ] && ! same "$1" "$2"; }

if ! same python "$identity" || ! "$venv/bin/python" -c '' 2>/dev/null ||
    outdated runtime "$runtime" || outdated dev "$dev"; then
    make_venv
fi
# The dev lock holds the runtime lock, version for version: either will do for running.
if ! same dev "$dev"; then
    case $level in
        dev) install_lock dev requirements-dev.lock "$dev" ;;
        runtime) same runtime "$runtime" || install_lock runtime requirements.lock "$runtime" ;;
        *) fail "the level is runtime or dev, not '$level'" ;;
    esac
fi
same project "$project" || install_project
