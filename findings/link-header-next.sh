#!/usr/bin/env bash
# Readers of the Link header: http-link-header 1.1.4, parse-link-header 2.0.0 and got 14.6.6 (npm), requests 2.34.2, httpx
# 0.28.1, aiohttp 3.14.5 and httplink 0.2.0 (PyPI), peterhellberg/link v1.2.0 and tomnomnom/linkheader (Go).
# The first of two pages names the second in a valid form (RFC 8288, RFC 3986): with a comma in the URL, with a semicolon in
# it, or with the relations "next last", since the next page is the last one.
# peterhellberg/link takes the comma away, so the next request asks for a field "idnumber". tomnomnom/linkheader finds no
# next page behind either sign, requests and httpx none behind a semicolon, and of the nine only http-link-header,
# parse-link-header and httplink understand two relations. got throws at the signs, and ends at the relations. All others
# report nothing: a loop "while there is a next page" stops after the first one, and a list looks complete.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts http-link-header@1.1.4 \
  parse-link-header@2.0.0 got@14.6.6 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile \
  requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5 httplink==0.2.0
cat >server.mjs <<'JS'
import { createServer } from "node:http";
const forms = { comma: ["&fields=id,number"], semicolon: ["&sort=state;number"], relations: ["", "next last"] };
const server = createServer((request, response) => {
  const [query, relation = "next"] = forms[request.url.slice(1)] ?? [];
  if (query !== undefined) response.setHeader("link", `<http://${request.headers.host}/?page=2${query}>; rel="${relation}"`);
  response.setHeader("content-type", "application/json").end("[1]");
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
JS
cat >main.mjs <<'JS'
import httpLinkHeader from "http-link-header";
import parseLinkHeader from "parse-link-header";
import got from "got";
const [base, ...forms] = process.argv.slice(2);
const readers = {
  "http-link-header": async (url) => httpLinkHeader.parse((await fetch(url)).headers.get("link")).rel("next")[0]?.uri,
  "parse-link-header": async (url) => parseLinkHeader((await fetch(url)).headers.get("link")).next?.url,
  got: (url) => got.paginate.all(url).then((items) => `${items.length} of 2 items`, () => "throws"),
};
for (const [reader, read] of Object.entries(readers)) {
  const found = forms.map(async (form) => (await read(`${base}/${form}`))?.replace(base, "") ?? "none");
  console.log([reader, ...(await Promise.all(found))].join(" | "));
}
JS
cat >main.py <<'PY'
import asyncio, sys
import aiohttp, httplink, httpx, requests

async def with_aiohttp(url):
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.links["next"]["url"] if "next" in response.links else None

def with_httplink(url):
    links = httplink.parse_link_header(requests.get(url).headers["link"])
    return links["next"].target if "next" in links else None

readers = {
    "requests": lambda url: requests.get(url).links.get("next", {}).get("url"),
    "httpx": lambda url: httpx.get(url).links.get("next", {}).get("url"),
    "aiohttp": lambda url: asyncio.run(with_aiohttp(url)),
    "httplink": with_httplink}
base, *forms = sys.argv[1:]
for reader, read in readers.items():
    print(reader, *[str(read(f"{base}/{form}") or "none").replace(base, "") for form in forms], sep=" | ")
PY
cat >go.mod <<'GO'
module finding

go 1.24

require github.com/peterhellberg/link v1.2.0
require github.com/tomnomnom/linkheader v0.0.0-20250811210735-e5fe3b51442e
GO
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/peterhellberg/link"
	"github.com/tomnomnom/linkheader"
)

func main() {
	one, two := "peterhellberg/link", "tomnomnom/linkheader"
	for _, form := range os.Args[2:] {
		response, _ := http.Get(os.Args[1] + "/" + form)
		first, second := "none", "none"
		if next := link.ParseResponse(response)["next"]; next != nil {
			first = next.URI
		}
		for _, next := range linkheader.ParseMultiple(response.Header["Link"]).FilterByRel("next") {
			second = next.URL
		}
		one, two = one+" | "+first, two+" | "+second
	}
	fmt.Println(strings.ReplaceAll(one+"\n"+two, os.Args[1], ""))
}
GO
go mod tidy >/dev/null 2>log || { cat log; exit 1; }
node server.mjs >url &
server=$!
until [ -s url ]; do sleep 0.1; done
arguments=("$(cat url)" comma semicolon relations)
{ node main.mjs "${arguments[@]}"; python/bin/python main.py "${arguments[@]}"; go run . "${arguments[@]}"; } | tee seen
expected='http-link-header | /?page=2&fields=id,number | /?page=2&sort=state;number | /?page=2
parse-link-header | /?page=2&fields=id,number | /?page=2&sort=state;number | /?page=2
got | throws | throws | 1 of 2 items
requests | /?page=2&fields=id,number | none | none
httpx | /?page=2&fields=id,number | none | none
aiohttp | /?page=2&fields=id,number | /?page=2&sort=state;number | none
httplink | /?page=2&fields=id,number | /?page=2&sort=state;number | /?page=2
peterhellberg/link | /?page=2&fields=idnumber | /?page=2&sort=state;number | none
tomnomnom/linkheader | none | none | none'
diff <(echo "$expected") seen
