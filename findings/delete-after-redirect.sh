#!/usr/bin/env bash
# What clients make of DELETE at 301, 302 and 308: httplib2 0.32.1, aiohttp 3.14.5, requests 2.34.2, urllib3 2.8.0 (PyPI),
# needle 3.5.0 and superagent 10.4.2 (npm).
# needle and superagent ask the new address with GET, needle also at 308, which exists so that nobody does: a 200 then looks
# as if something was deleted. requests does so at 302 only, aiohttp and urllib3 never; httplib2 returns a 301 or 302 as it
# is, without an error, and follows 308.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts needle@3.5.0 superagent@10.4.2 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile httplib2==0.32.1 aiohttp==3.14.5 requests==2.34.2 urllib3==2.8.0
cat >server.mjs <<'JS'
import { createServer } from "node:http";
const server = createServer(({ method, url }, response) => {
  if (url === "/new") return response.writeHead(200, { "x-method": method }).end(method);
  response.writeHead(Number(url.slice(1)), { location: "/new" }).end("not followed");
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
JS
node server.mjs >url &
server=$!
trap 'kill $server; rm -rf "$folder"' EXIT
until [ -s url ]; do sleep 0.1; done
cat >main.py <<'PY'
import asyncio, sys
import aiohttp, httplib2, requests, urllib3

async def with_aiohttp(url):
    async with aiohttp.ClientSession() as session, session.delete(url) as response:
        return await response.text()

for name, call in {
    "httplib2": lambda url: httplib2.Http().request(url, "DELETE")[1].decode(),
    "aiohttp": lambda url: asyncio.run(with_aiohttp(url)),
    "requests": lambda url: requests.delete(url).text,
    "urllib3": lambda url: urllib3.PoolManager().request("DELETE", url).data.decode(),
}.items():
    print(name, *(f"{status} {call(sys.argv[1] + str(status))}" for status in (301, 302, 308)), sep=", ")
PY
cat >main.mjs <<'JS'
import needle from "needle";
import superagent from "superagent";
const calls = {
  needle: async (url) => String((await needle("delete", url, null, { follow_max: 3 })).body),
  superagent: async (url) => (await superagent.delete(url)).headers["x-method"],
};
for (const [name, call] of Object.entries(calls)) {
  const seen = [];
  for (const status of [301, 302, 308]) seen.push(`${status} ${await call(process.argv[2] + status)}`);
  console.log([name, ...seen].join(", "));
}
JS
{
  python/bin/python main.py "$(cat url)"
  node main.mjs "$(cat url)"
} | tee seen
expected='httplib2, 301 not followed, 302 not followed, 308 DELETE
aiohttp, 301 DELETE, 302 DELETE, 308 DELETE
requests, 301 DELETE, 302 GET, 308 DELETE
urllib3, 301 DELETE, 302 DELETE, 308 DELETE
needle, 301 GET, 302 GET, 308 GET
superagent, 301 GET, 302 GET, 308 DELETE'
diff <(echo "$expected") seen
