#!/usr/bin/env bash
# A chunked 200 that always breaks off before its end, and what load generators say: ab 2.3 (Apache 2.4 of Debian bookworm),
# wrk 4.1.0 (Debian), hey 0.1.4 and vegeta 12.13.0 (Go), autocannon 9.0.0 (npm).
# For ab and hey the run is perfect, autocannon has no error either: only its requests and its answers differ. vegeta and wrk
# count each as an error, wrk without a single request in its total. A test that reads errors and statuses passes although
# no list was ever complete.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

for program in ab wrk; do
  command -v "$program" >/dev/null || { echo "needs: apt-get install apache2-utils wrk" >&2; exit 2; }
done
npm install --no-audit --no-fund --loglevel=error --ignore-scripts autocannon@9.0.0 >/dev/null
cat >go.mod <<'GO'
module finding

go 1.25

require (
	github.com/rakyll/hey v0.1.4
	github.com/tsenart/vegeta/v12 v12.13.0
)
GO
GOFLAGS=-mod=mod go build -o . github.com/rakyll/hey github.com/tsenart/vegeta/v12 2>log || { cat log; exit 1; }
cat >server.mjs <<'JS'
import { createServer } from "node:http";
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write(`[${'{"id":1},'.repeat(100)}`, () => response.socket.end());
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
JS
node server.mjs >url &
server=$!
trap 'kill $server; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
until [ -s url ]; do sleep 0.1; done
url=$(cat url)
{
  ab -q -n 20 -c 2 "$url" | sed -nE 's/^(Complete|Failed) requests: +([0-9]+)$/ab \1 \2/p'
  ./hey -n 20 -c 2 "$url" | sed -nE 's/^ +\[(.*)\]\s+(.*)$/hey \1: \2/p'
  node_modules/.bin/autocannon --connections 2 --amount 20 --json "$url" 2>/dev/null | node -p '
    const { errors, non2xx, timeouts, requests } = JSON.parse(require("fs").readFileSync(0));
    `autocannon errors ${errors}, non2xx ${non2xx}, timeouts ${timeouts}, ${requests.total < requests.sent ? "answers are missing" : "all answered"}`'
  echo "GET $url" | ./vegeta attack -rate 20 -duration 1s | ./vegeta report -type json |
    node -p 'const { success, errors } = JSON.parse(require("fs").readFileSync(0)); `vegeta success ${success}, ${errors}`'
  wrk -t1 -c2 -d1s "$url" | sed -nE 's/^ *([0-9]+) requests in.*/wrk requests \1/p; s/.*read [1-9][0-9]*,.*/wrk read errors/p'
} | tee seen
expected='ab Complete 20
ab Failed 0
hey 200: 20 responses
autocannon errors 0, non2xx 0, timeouts 0, answers are missing
vegeta success 0, unexpected EOF
wrk requests 0
wrk read errors'
diff <(echo "$expected") seen
