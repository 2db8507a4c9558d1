#!/usr/bin/env bash
# Tests both clients against a server: clients/test.sh path/to/portage. Needs python3 (3.10), node (20) and npm.
# Clients generated from the description are tested too, where the generators can be installed, and the page /docs,
# where there is a Chromium; PORTAGE_TEST_CLIENTS=require fails where they are not.
set -euo pipefail
portage=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
export PYTHONPYCACHEPREFIX=$work/pycache
processes=()
stop() {
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap stop EXIT

# What a test needs is not here: it is left out, or the run fails where all of it is required.
missing() {
  if [[ ${PORTAGE_TEST_CLIENTS:-} == require ]]; then
    echo "$1, and PORTAGE_TEST_CLIENTS=require" >&2
    exit 1
  fi
  echo "NOT tested: $1"
}

# The first line that a process prints, once it is there.
first_line() {
  for _ in $(seq 600); do
    if [[ -s $1 ]]; then head -n 1 "$1" && return; fi
    sleep 0.1
  done
  echo "no line in $1" >&2
  return 1
}

cd "$work"
PORTAGE_WEBHOOKS__ALLOW_PRIVATE=true "$portage" serve --data-dir data --listen 127.0.0.1:0 >serve.out 2>serve.err &
processes+=($!)
url=$(first_line serve.out | grep -o 'http://.*') || { cat serve.err; exit 1; }
ours=("--data-dir" data "--url" "$url")
python3 "$here/test/faults.py" "${url##*:}" >faults.out &
processes+=($!)
faults=http://127.0.0.1:$(first_line faults.out)

scopes="transfers:create transfers:read"
token=$("$portage" token --data-dir data --sub 4001 --scope "$scopes")
service=$("$portage" token --data-dir data --sub service --scope "$scopes transfers:any")
"$portage" deposit "${ours[@]}" --user 4001 --asset USDT --amount 1000 --ref first >/dev/null
"$portage" deposit "${ours[@]}" --user 9007199254740993 --asset USDT --amount 2 --ref big >/dev/null
for number in ACC-1 ACC-2; do
  "$portage" account pipeline open "$number" "${ours[@]}" --owner 4001 --currency USDT --reason test >/dev/null
done
"$portage" account pipeline deposit ACC-1 "${ours[@]}" --currency USDT --amount 100 --ref numbered >/dev/null

hook=$("$portage" webhook add "$faults/hook" --event "case.*" --reason test --json "${ours[@]}")
secret=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["secret"])' "$hook")
"$portage" webhook test "$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["id"])' "$hook")" --reason test "${ours[@]}" >/dev/null

echo "== python"
python3 -m compileall -q "$here/python/portage_transfers" "$here/test"
PYTHONPATH=$here/python python3 "$here/test/python_client.py" "$url" "$faults" "$token" "$service" "$secret"

# each client pays 1 of the user with the large id
paid=1
echo "== typescript"
cp -r "$here/typescript" typescript
rm -rf typescript/node_modules typescript/dist
if (cd typescript && npm install --no-fund --no-audit --no-package-lock --include=dev >../npm.log 2>&1); then
  mkdir -p uses/node_modules
  ln -s "$work/typescript" uses/node_modules/portage-transfers
  ln -s "$work/typescript/node_modules/@types" uses/node_modules/@types
  cp "$here/test/typescript_client.mts" uses/
  typescript/node_modules/.bin/tsc --strict --target ES2022 --module NodeNext --typeRoots uses/node_modules/@types --types node --outDir uses/out uses/typescript_client.mts
  node uses/out/typescript_client.mjs "$url" "$faults" "$token" "$service" "$secret"
  paid=2
else
  cat npm.log
  missing "the TypeScript client, whose compiler npm cannot install here"
fi

# what both sent is in the books once, and the user beside the large id has nothing
"$portage" check "${ours[@]}" >/dev/null
"$portage" account list "${ours[@]}" --user 9007199254740993 | grep -q " SPOT .* $paid\.000000 "
! "$portage" account list "${ours[@]}" --user 9007199254740992 | grep -q '[1-9]\.000000'

echo "== page"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -n $chromium ]]; then
  node "$here/test/docs_page.mjs" "$chromium" "$url" "$token" ${PORTAGE_TEST_SCREENSHOTS:+"$PORTAGE_TEST_SCREENSHOTS"}
else
  missing "the page /docs: no Chromium (Debian: apt-get install chromium)"
fi

echo "== generated"
status=0
"$here/generate.sh" "$url" generated >generate.log 2>&1 || status=$?
if [[ $status == 3 ]]; then
  cat generate.log
  missing "generated clients, whose generators cannot be installed here"
  exit 0
elif [[ $status != 0 ]]; then
  cat generate.log
  exit 1
fi
python=generated/tools/python/bin/python
"$python" -m compileall -q generated/python
"$python" -m mypy --strict "$here/python/portage_transfers"
MYPYPATH=$here/python "$python" -m mypy --strict "$here/test/python_client.py" "$here/test/faults.py"
if grep -q 'duplicate models' generate.log; then
  echo "openapi-python-client left models out:"
  cat generate.log
  exit 1
fi
PYTHONPATH=generated/python "$python" "$here/test/python_generated.py" "$url" "$token"
cp "$here/test/typescript_generated.ts" generated/typescript/run.ts
ln -s "$work/generated/tools/node/node_modules" generated/node_modules
generated/tools/node/node_modules/.bin/tsc --strict --target ES2022 --lib ES2022,DOM,DOM.Iterable --module commonjs --esModuleInterop --moduleResolution node10 \
  --skipLibCheck --typeRoots generated/node_modules/@types --types node --outDir generated/out generated/typescript/run.ts
node generated/out/run.js "$url" "$token"
echo "all passed"
