#!/usr/bin/env bash
# Idempotency of Powertools for AWS Lambda: @aws-lambda-powertools/idempotency 2.35.0 (npm) and aws-lambda-powertools 3.37.0
# (PyPI), with the key in the JSON body of the request, as their documents show it.
# In TypeScript, bodies that differ only in an integer beyond 2^53 have one key: the second order is not made, and its caller
# gets the answer about the first. If the key is a list of fields and a request has none of them, or is an empty string,
# TypeScript warns and takes that for a key, so that all such requests share one answer; Python performs each of them. 1 and
# 1.0 are one key in TypeScript, two in Python. So who moves a function to the other language changes what is performed.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts @aws-lambda-powertools/idempotency@2.35.0 \
  @aws-lambda-powertools/jmespath@2.35.0 @aws-lambda-powertools/commons@2.35.0 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile aws-lambda-powertools==3.37.0 boto3==1.44.8
export AWS_LAMBDA_FUNCTION_NAME=finding
cat >cases.json <<'JSON'
[
  ["19 digits, the body", "powertools_json(body)", ["{\"order\":1234567890123456789}", "{\"order\":1234567890123456788}"]],
  ["19 digits, a field", "powertools_json(body).order", ["{\"order\":1234567890123456789}", "{\"order\":1234567890123456788}"]],
  ["19 digits, as text", "body", ["{\"order\":1234567890123456789}", "{\"order\":1234567890123456788}"]],
  ["1 and 1.0", "powertools_json(body)", ["{\"amount\":1}", "{\"amount\":1.0}"]],
  ["no field of the key", "powertools_json(body).[customer, request]", ["{\"order\":1}", "{\"order\":2}"]],
  ["one field of the key", "powertools_json(body).[customer, request]", ["{\"request\":1}", "{\"request\":2}"]],
  ["an empty string", "powertools_json(body).request", ["{\"request\":\"\",\"order\":1}", "{\"request\":\"\",\"order\":2}"]]
]
JSON
cat >main.mjs <<'JS'
import { readFileSync } from "node:fs";
import { IdempotencyConfig, IdempotencyItemAlreadyExistsError, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { BasePersistenceLayer } from "@aws-lambda-powertools/idempotency/persistence";

class Memory extends BasePersistenceLayer {
  records = new Map();
  async _putRecord(record) {
    const stored = this.records.get(record.idempotencyKey);
    if (stored) throw new IdempotencyItemAlreadyExistsError("exists", stored);
    this.records.set(record.idempotencyKey, record);
  }
  async _getRecord(key) { return this.records.get(key); }
  async _updateRecord(record) { this.records.set(record.idempotencyKey, record); }
  async _deleteRecord(record) { this.records.delete(record.idempotencyKey); }
}
for (const [name, eventKeyJmesPath, bodies] of JSON.parse(readFileSync("cases.json", "utf8"))) {
  let performed = 0;
  const handler = makeIdempotent(async () => ({ performed: ++performed }),
    { persistenceStore: new Memory(), config: new IdempotencyConfig({ eventKeyJmesPath }) });
  for (const body of bodies) await handler({ body }, { getRemainingTimeInMillis: () => 1000 });
  console.log(`TypeScript, ${name}: ${performed} of ${bodies.length} performed`);
}
JS
cat >main.py <<'PY'
import json
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyItemAlreadyExistsError
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer

class Memory(BasePersistenceLayer):
    def __init__(self):
        super().__init__()
        self.records = {}
    def _put_record(self, data_record):
        if data_record.idempotency_key in self.records:
            raise IdempotencyItemAlreadyExistsError(old_data_record=self.records[data_record.idempotency_key])
        self.records[data_record.idempotency_key] = data_record
    def _get_record(self, idempotency_key):
        return self.records[idempotency_key]
    def _update_record(self, data_record):
        self.records[data_record.idempotency_key] = data_record
    def _delete_record(self, data_record):
        del self.records[data_record.idempotency_key]

class Context:
    get_remaining_time_in_millis = staticmethod(lambda: 1000)

for name, path, bodies in json.load(open("cases.json")):
    performed = []
    @idempotent(persistence_store=Memory(), config=IdempotencyConfig(event_key_jmespath=path))
    def handler(event, context):
        performed.append(event)
        return {"performed": len(performed)}
    for body in bodies:
        handler({"body": body}, Context())
    print(f"Python, {name}: {len(performed)} of {len(bodies)} performed")
PY
{ node main.mjs 2>/dev/null; python/bin/python -W ignore main.py; } | tee seen
expected='TypeScript, 19 digits, the body: 1 of 2 performed
TypeScript, 19 digits, a field: 1 of 2 performed
TypeScript, 19 digits, as text: 2 of 2 performed
TypeScript, 1 and 1.0: 1 of 2 performed
TypeScript, no field of the key: 1 of 2 performed
TypeScript, one field of the key: 2 of 2 performed
TypeScript, an empty string: 1 of 2 performed
Python, 19 digits, the body: 2 of 2 performed
Python, 19 digits, a field: 2 of 2 performed
Python, 19 digits, as text: 2 of 2 performed
Python, 1 and 1.0: 2 of 2 performed
Python, no field of the key: 2 of 2 performed
Python, one field of the key: 2 of 2 performed
Python, an empty string: 2 of 2 performed'
diff <(echo "$expected") seen
