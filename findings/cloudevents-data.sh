#!/usr/bin/env bash
# The SDKs of CloudEvents for JavaScript and Python: cloudevents 10.0.0 (npm) and 2.2.0 (PyPI). HTTP has two modes: "binary"
# (the body is the data, with its own content type) and "structured" (the body is the event, the data is a member).
# In binary mode PyPI sends a list or a boolean as Python's text, [{'number': 1001}] and False, under application/json. Both
# send a string without its quotes, so the text "1001" is the number 1001 for Python's receiver. npm's receiver returns
# false, and any media type other than application/json, such as application/vnd.orders+json, as text in binary mode; in
# structured mode it drops false, and 0 too. So the mode, which is a detail of the transport, decides what an
# event says. A test with an object under application/json, the usual example, shows none of it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts cloudevents@10.0.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile cloudevents==2.2.0
cat >main.py <<'PY'
import json, sys
from cloudevents.core.bindings import http
from cloudevents.core.v1.event import CloudEvent

command = json.load(sys.stdin)
if "body" in command:
    message = http.HTTPMessage(command["headers"], command["body"].encode())
    print(json.dumps({"data": http.from_http_event(message).get_data()}))
else:
    attributes = {"id": "1", "source": "/orders", "type": "t", "specversion": "1.0", "datacontenttype": command["type"]}
    write = {"binary": http.to_binary_event, "structured": http.to_structured_event}[command["mode"]]
    message = write(CloudEvent(attributes, command["data"]))
    print(json.dumps({"headers": message.headers, "body": message.body.decode()}))
PY
cat >main.mjs <<'JS'
import { execFileSync } from "node:child_process";
import { CloudEvent, HTTP } from "cloudevents";

const python = (command) =>
  JSON.parse(execFileSync("python/bin/python", ["main.py"], { input: JSON.stringify(command), encoding: "utf8" }));
const senders = {
  npm: ({ mode, type, data }) => {
    const event = new CloudEvent({ id: "1", source: "/orders", type: "t", datacontenttype: type, data });
    const { headers, body } = HTTP[mode](event);
    return { headers, body: String(body) };
  },
  PyPI: python,
};
const receivers = { npm: (message) => HTTP.toEvent(message).data, PyPI: (message) => python(message).data };
const received = (receive, message) => {
  try {
    return JSON.stringify(receive(message)) ?? "nothing";
  } catch (error) {
    return error.name;
  }
};
const json = "application/json";
const events = [[json, [{ number: 1001 }]], [json, false], [json, "1001"], ["application/vnd.orders+json", { number: 1001 }]];
for (const mode of ["binary", "structured"])
  for (const [type, data] of events)
    for (const [sender, send] of Object.entries(senders)) {
      const message = send({ mode, type, data });
      const sent = mode === "binary" ? `sends ${message.body}` : "sends";
      const results = Object.entries(receivers).map(([name, receive]) => `${name} reads ${received(receive, message)}`);
      console.log(`${mode} ${type.slice(12)} ${JSON.stringify(data)} | ${sender} ${sent} | ${results.join(" | ")}`);
    }
JS
node main.mjs | tee seen
expected='binary json [{"number":1001}] | npm sends [{"number":1001}] | npm reads [{"number":1001}] | PyPI reads [{"number":1001}]
binary json [{"number":1001}] | PyPI sends [{'\''number'\'': 1001}] | npm reads SyntaxError | PyPI reads "[{'\''number'\'': 1001}]"
binary json false | npm sends false | npm reads "false" | PyPI reads false
binary json false | PyPI sends False | npm reads "False" | PyPI reads "False"
binary json "1001" | npm sends 1001 | npm reads "1001" | PyPI reads 1001
binary json "1001" | PyPI sends 1001 | npm reads "1001" | PyPI reads 1001
binary vnd.orders+json {"number":1001} | npm sends {"number":1001} | npm reads "{\"number\":1001}" | PyPI reads {"number":1001}
binary vnd.orders+json {"number":1001} | PyPI sends {"number": 1001} | npm reads "{\"number\": 1001}" | PyPI reads {"number":1001}
structured json [{"number":1001}] | npm sends | npm reads [{"number":1001}] | PyPI reads [{"number":1001}]
structured json [{"number":1001}] | PyPI sends | npm reads [{"number":1001}] | PyPI reads [{"number":1001}]
structured json false | npm sends | npm reads nothing | PyPI reads false
structured json false | PyPI sends | npm reads nothing | PyPI reads false
structured json "1001" | npm sends | npm reads "1001" | PyPI reads "1001"
structured json "1001" | PyPI sends | npm reads "1001" | PyPI reads "1001"
structured vnd.orders+json {"number":1001} | npm sends | npm reads {"number":1001} | PyPI reads {"number":1001}
structured vnd.orders+json {"number":1001} | PyPI sends | npm reads {"number":1001} | PyPI reads {"number":1001}'
diff <(echo "$expected") seen
