#!/bin/sh
# Bring the reference implementation of Yjs, which tests/yjs runs against, to what its lock says.
#
# Usage: tools/yjs.sh
#
# Without Node.js it says so and ends well: those tests are skipped then, and say why.
set -eu
cd "$(dirname "$0")/../tests/yjs"

for command in node npm; do
    if ! command -v "$command" >/dev/null 2>&1; then
        echo "octavo: NO TEST AGAINST YJS WILL RUN: there is no command '$command'" \
            "(on Debian: apt-get install nodejs npm)" >&2
        exit 0
    fi
done

# What is installed is recorded in it, after it was installed.
record=node_modules/.octavo
lock=$(cat package.json package-lock.json | cksum)
if [ "$(cat "$record" 2>/dev/null)" = "$lock" ]; then exit 0; fi
echo "octavo: installing what tests/yjs/package-lock.json names" >&2
npm ci --silent --ignore-scripts --no-audit --no-fund || {
    echo "octavo: npm ci failed in tests/yjs: run it there to see why" >&2
    exit 1
}
printf '%s\n' "$lock" >"$record"
