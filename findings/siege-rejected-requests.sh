#!/usr/bin/env bash
# siege 4.0.7 (Debian bookworm), autocannon 9.0.0 and wrk 4.1.0, load generators, against a server that answers 429 only.
# siege reports an availability of 100 % and no failed transaction, although none was successful: a run that was rejected
# from its first request to its last looks perfect by the figure that people read. The others count the responses as such.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts autocannon@9.0.0 >/dev/null
cat >server.mjs <<'JS'
import { createServer } from "node:http";
const server = createServer((request, response) => response.writeHead(429, { "retry-after": "1" }).end("{}"));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
JS
for program in siege wrk; do
  command -v "$program" >/dev/null || { echo "needs: apt-get install siege wrk" >&2; exit 2; }
done
node server.mjs >url &
server=$!
trap 'kill $server; rm -rf "$folder"' EXIT
until [ -s url ]; do sleep 0.1; done
url=$(cat url)
{
  HOME=$folder siege --benchmark --concurrent=2 --reps=10 "$url" 2>&1 |
    sed -nE 's/.*"(availability|successful_transactions|failed_transactions)":[^0-9]*([0-9.]+).*/siege \1 \2/p'
  node_modules/.bin/autocannon --connections 2 --amount 20 --json "$url" 2>/dev/null |
    node -p 'const { errors, non2xx } = JSON.parse(require("fs").readFileSync(0)); `autocannon errors ${errors} non2xx ${non2xx}`'
  wrk -t1 -c2 -d1s "$url" | sed -nE 's/^ *(Non-2xx or 3xx responses): [1-9].*/wrk \1/p'
} | tee seen
expected='siege availability 100.00
siege successful_transactions 0
siege failed_transactions 0
autocannon errors 0 non2xx 20
wrk Non-2xx or 3xx responses'
diff <(echo "$expected") seen
