#!/usr/bin/env bash
# Resolve the locks for every supported Python and platform: requirements/lock.sh [path of uv]
# smollm2.txt is no part of it: one package without its dependencies, pinned by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${1:-uv}
torch=$(grep -o 'torch==[0-9.]*' pyproject.toml)

resolve() {
    "$uv" pip compile pyproject.toml --quiet --universal --upgrade --python-version 3.11 --no-header \
        --no-annotate --excludes requirements/excludes.in "$@" >/dev/null
}

resolve -o requirements/base.txt
resolve --group test -c requirements/base.txt -o requirements/test.txt
resolve requirements/torch-needs.in --extra models -c requirements/base.txt -o requirements/models.txt
resolve requirements/torch-needs.in --extra models --extra autojudge --extra cold --extra pandas --extra sso --extra tracing \
    --group test --group dev -c requirements/test.txt -c requirements/models.txt -o requirements/dev.txt
for lock in requirements/models.txt requirements/dev.txt; do
    { cat "$lock"; echo "$torch"; } | LC_ALL=C sort -o "$lock"
done
if grep -nE '^(nvidia|cuda|triton)' requirements/*.txt; then
    echo "A lock names GPU packages." >&2
    exit 1
fi
