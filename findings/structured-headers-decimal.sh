#!/usr/bin/env bash
# Writers and readers of structured fields (RFC 9651): structured-headers 2.1.0, structured-field-values 2.0.4 and
# @svta/cml-structured-field-values 1.1.6 (npm), http-sf 1.5.0 and http-sfv 0.9.9 (PyPI).
# In such a header a decimal has one to three digits behind its point. structured-headers writes a number that is whole only
# when it is rounded as "60." or "435." (4.35 * 100), which is neither an integer nor a decimal. Four of five readers find
# nothing in that, its own is one of them, and a recipient then has to ignore the whole field. So a header with computed
# numbers, such as seconds that are left or a sum, is right in nearly all answers and is lost in some. The other writers
# write "60.0".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts \
  structured-headers@2.1.0 structured-field-values@2.0.4 @svta/cml-structured-field-values@1.1.6 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile http-sf==1.5.0 http-sfv==0.9.9
cat >main.mjs <<'JS'
import { execFileSync } from "node:child_process";
import * as structuredHeaders from "structured-headers";
import * as structuredFieldValues from "structured-field-values";
import * as cml from "@svta/cml-structured-field-values";

const python = (...args) => execFileSync("python/bin/python", ["main.py", ...args], { encoding: "utf8" }).trim();
const writers = {
  "structured-headers": (number) => structuredHeaders.serializeItem([number, new Map()]),
  "structured-field-values": (number) => structuredFieldValues.encodeItem(number),
  "@svta/cml-structured-field-values": (number) => cml.encodeSfItem(number),
  "http-sf": (number) => python("write", "http-sf", String(number)),
  "http-sfv": (number) => python("write", "http-sfv", String(number)),
};
const readers = {
  "structured-headers": (text) => structuredHeaders.parseItem(text)[0],
  "structured-field-values": (text) => structuredFieldValues.decodeItem(text).value,
  "@svta/cml-structured-field-values": (text) => cml.decodeSfItem(text).value,
  "http-sf": (text) => python("read", "http-sf", text),
  "http-sfv": (text) => python("read", "http-sfv", text),
};
for (const [writer, write] of Object.entries(writers))
  console.log(writer, "writes", ...[59.25, 59.9996, 4.35 * 100].map(write));
for (const [reader, read] of Object.entries(readers)) {
  const values = ["60.0", "60."].map((text) => {
    try {
      return Number(read(text));
    } catch {
      return "nothing";
    }
  });
  console.log(reader, 'reads "60.0" as', values[0], 'and "60." as', values[1]);
}
JS
cat >main.py <<'PY'
import sys
import http_sf, http_sfv

def read_http_sfv(text):
    item = http_sfv.Item()
    item.parse(text.encode())
    return item.value

action, library, text = sys.argv[1:]
if action == "write":
    print(http_sf.ser(float(text)) if library == "http-sf" else http_sfv.Item(float(text)))
else:
    try:
        print(http_sf.parse(text.encode(), tltype="item")[0] if library == "http-sf" else read_http_sfv(text))
    except Exception:
        print("error")
        sys.exit(1)
PY
node main.mjs | tee seen
expected='structured-headers writes 59.25 60. 435.
structured-field-values writes 59.25 60.0 435.0
@svta/cml-structured-field-values writes 59.25 60.0 435.0
http-sf writes 59.25 60.0 435.0
http-sfv writes 59.25 60.0 435.0
structured-headers reads "60.0" as 60 and "60." as nothing
structured-field-values reads "60.0" as 60 and "60." as nothing
@svta/cml-structured-field-values reads "60.0" as 60 and "60." as nothing
http-sf reads "60.0" as 60 and "60." as nothing
http-sfv reads "60.0" as 60 and "60." as 60'
diff <(echo "$expected") seen
