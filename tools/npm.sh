#!/bin/sh
# Install the npm packages that the lock file of a test folder names.
#
# Usage: tools/npm.sh FOLDER PACKAGE
#
# FOLDER is below tests, and PACKAGE is what its tests run against. Without Node.js this prints a
# warning and succeeds: those tests are skipped, and say why.
set -eu
folder=$1
package=$2
cd "$(dirname "$0")/../tests/$folder"

for command in node npm; do
    if ! command -v "$command" >/dev/null 2>&1; then
        echo "octavo: NO TEST AGAINST $package WILL RUN: there is no command '$command'" \
            "(on Debian: apt-get install nodejs npm)" >&2
        exit 0
    fi
done

# The installed lock is recorded after the installation.
record=node_modules/.octavo
lock=$(cat package.json package-lock.json | cksum)
if [ "$(cat "$record" 2>/dev/null)" = "$lock" ]; then exit 0; fi
echo "octavo: installing what tests/$folder/package-lock.json names" >&2
npm ci --silent --ignore-scripts --no-audit --no-fund || {
    echo "octavo: npm ci failed in tests/$folder: run it there to see why" >&2
    exit 1
}
printf '%s\n' "$lock" >"$record"
