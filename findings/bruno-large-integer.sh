#!/usr/bin/env bash
# @usebruno/cli 4.1.0, a client for tests of HTTP APIs: assertions about an integer beyond 2^53.
# The value of the response is rounded to a number, and the expected one stays a text because it cannot be a number. So the
# assertion fails for every identifier of 19 digits, the right one too, while newman 6.2.2 passes with a wrong one.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts @usebruno/cli@4.1.0 >/dev/null
cat >server.mjs <<'JS'
import { createServer } from "node:http";
const server = createServer((request, response) =>
  response.writeHead(200, { "content-type": "application/json" }).end('{"large":9223372036854775807,"small":1001}'));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
JS
node server.mjs >url &
server=$!
trap 'kill $server; rm -rf "$folder"' EXIT
until [ -s url ]; do sleep 0.1; done
mkdir collection
echo '{ "version": "1", "name": "c", "type": "collection" }' >collection/bruno.json
cat >collection/r.bru <<BRU
meta {
  name: r
  type: http
  seq: 1
}

get {
  url: $(cat url)
  body: none
  auth: none
}

assert {
  res.body.small: eq 1001
  res.body.large: eq 9223372036854775807
}
BRU
(cd collection && ../node_modules/.bin/bru run r.bru 2>&1 || true) | grep -E 'res\.body|to equal' | sed 's/^ *//' | tee seen
expected="✓ res.body.small: eq 1001
✕ res.body.large: eq 9223372036854775807
expected 9223372036854776000 to equal '9223372036854775807'"
diff <(echo "$expected") seen
