#!/usr/bin/env bash
# Identifiers of a path parameter "type: integer, format: int64" that validators refuse: express-openapi-validator 5.6.2,
# openapi-backend 5.21.2 and Prism 5.14.2 (npm; the last is a mock server and a validating proxy).
# Prism refuses everything beyond 2^53 - 1 with 422, also where no number has to be computed, so its mock of a service
# rejects what the service accepts. openapi-backend refuses the 512 largest identifiers, and accepts the smallest.
# express-openapi-validator accepts all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts \
  express@5.3.0 express-openapi-validator@5.6.2 openapi-backend@5.21.2 @stoplight/prism-cli@5.14.2 >/dev/null
cat >api.json <<'JSON'
{
  "openapi": "3.0.3",
  "info": { "title": "Orders", "version": "1" },
  "paths": {
    "/orders/{id}": {
      "get": {
        "operationId": "getOrder",
        "parameters": [
          { "name": "id", "in": "path", "required": true, "schema": { "type": "integer", "format": "int64" } }
        ],
        "responses": {
          "200": { "description": "An order.", "content": { "application/json": { "example": {} } } }
        }
      }
    }
  }
}
JSON
cat >main.mjs <<'JS'
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import express from "express";
import { middleware } from "express-openapi-validator";
import { OpenAPIBackend } from "openapi-backend";

const definition = () => JSON.parse(readFileSync("api.json", "utf8"));

const app = express();
app.use(middleware({ apiSpec: definition() }));
app.get("/orders/:id", (_request, response) => void response.json({}));
app.use((error, _request, response, _next) => void response.status(error.status).end());
const server = app.listen(0);
await once(server, "listening");

const handlers = { getOrder: () => 200, validationFail: () => 400 };
const backend = new OpenAPIBackend({ definition: definition(), handlers });
await backend.init();

const probe = createServer().listen(0);
await once(probe, "listening");
const { port } = probe.address();
await new Promise((resolve) => probe.close(resolve));
const prism = spawn("node_modules/.bin/prism", ["mock", "--port", `${port}`, "api.json"], { stdio: "ignore" });
const statusAt = async (base, path) => (await fetch(`http://127.0.0.1:${base}${path}`)).status;
while ((await statusAt(port, "/orders/1").catch(() => 0)) === 0) await setTimeout(100);

const validators = {
  "express-openapi-validator": (path) => statusAt(server.address().port, path),
  "openapi-backend": (path) => backend.handleRequest({ method: "get", path, headers: {} }),
  Prism: (path) => statusAt(port, path),
};
for (const [name, validate] of Object.entries(validators))
  for (const id of ["9007199254740991", "9007199254740993", "9223372036854775295", "9223372036854775807", "-9223372036854775808"])
    console.log(name, id, await validate(`/orders/${id}`));
prism.kill();
server.close();
JS
node main.mjs | tee seen
expected='express-openapi-validator 9007199254740991 200
express-openapi-validator 9007199254740993 200
express-openapi-validator 9223372036854775295 200
express-openapi-validator 9223372036854775807 200
express-openapi-validator -9223372036854775808 200
openapi-backend 9007199254740991 200
openapi-backend 9007199254740993 200
openapi-backend 9223372036854775295 200
openapi-backend 9223372036854775807 400
openapi-backend -9223372036854775808 200
Prism 9007199254740991 200
Prism 9007199254740993 422
Prism 9223372036854775295 422
Prism 9223372036854775807 422
Prism -9223372036854775808 422'
diff <(echo "$expected") seen
