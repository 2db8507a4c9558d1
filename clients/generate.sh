#!/usr/bin/env bash
# Generates whole clients, every route and model, from a server's description:
#   clients/generate.sh http://127.0.0.1:3000 OUT        (or the path of an openapi.json)
# makes OUT/python with openapi-python-client and OUT/typescript with @hey-api/openapi-ts. Its exit status is 3
# where the generators cannot be installed.
set -euo pipefail
source=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
tools=$out/tools
mkdir -p "$tools" "$out/python"
if [[ $source == http*://* ]]; then
  curl -fsS "${source%/}/openapi.json" -o "$out/openapi.json"
else
  cp "$source" "$out/openapi.json"
fi
python3 -m venv "$tools/python" || exit 3
"$tools/python/bin/pip" install -q --disable-pip-version-check openapi-python-client==0.29.1 ruff mypy || exit 3
npm install --silent --no-fund --no-audit --prefix "$tools/node" \
  typescript@5.9.3 @types/node@20 @hey-api/openapi-ts@0.95.0 || exit 3
PATH=$tools/python/bin:$PATH "$tools/python/bin/openapi-python-client" generate \
  --path "$out/openapi.json" --output-path "$out/python/portage_client" --overwrite --meta none
"$tools/node/node_modules/.bin/openapi-ts" --input "$out/openapi.json" --output "$out/typescript"
