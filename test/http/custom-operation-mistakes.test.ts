import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createHandler } from "../../lib/http/handler.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { readStatus, store, whoAmI } from "./custom-operations-fixture.ts";

test("everything that is wrong with the paths, names and errors of operations is reported at startup", () => {
  const wrong = [
    { ...whoAmI, id: "b", path: "/pets/" },
    { ...readStatus, id: "listOrders", parameters: {}, errors: ["gone"] },
    { ...readStatus, id: "listOrders", path: "/store/orders/{id}/status" },
    {
      ...whoAmI,
      id: "d",
      path: "/pets/{petId}",
      parameters: { petId: { description: "The pet." } },
      errors: [""],
    },
  ];
  const create = () =>
    createHandler({ store, operations: wrong as unknown as NonNullable<HandlerOptions["operations"]> });
  const path =
    "Use a path such as /store/orders/{orderId}, without a slash at the end. The name of a parameter begins with a letter.";
  const describe = "Describe this parameter of the path.";
  const noParameter = (name: string) => `The path has no {${name}}. Add it there, or remove it.`;
  const taken = (name: string) => `Another operation has GET /store/orders/{${name}}/status too. Change one.`;
  const issues = [
    ["[0].path", path],
    ["[0].parameters.callerId", noParameter("callerId")],
    ["[0].parameters.region", noParameter("region")],
    ["[1].parameters.orderId", describe],
    ["[1].errors", "There is no error code 'gone'."],
    ["[2].parameters.id", describe],
    ["[2].parameters.orderId", noParameter("orderId")],
    ["[2].id", "Another operation is named listOrders too. Rename one."],
    ["[2].path", taken("id")],
    ["[3].errors", "There is no error code ''."],
  ].map(([where, message]) => ({ path: `operations${where}`, message }));
  expect(create).toThrow(expect.objectContaining({ issues }));
});

test("an operation with a mistake in its types does not compile", async () => {
  const root = new URL("../..", import.meta.url).pathname;
  const folder = await mkdtemp(join(tmpdir(), "store-orders-operations-"));
  const source = (line: string) => `
import { createHandler, defineOperation, OPERATIONS } from "${root}lib/http/index.ts";
import { createMemoryStore } from "${root}lib/stores/memory.ts";
import * as z from "${root}node_modules/zod/index.js";
const store = createMemoryStore();
const data = { id: "a", method: "GET", tag: "a", summary: "a", description: "a", success: { status: 200, description: "a" } } as const;
const parameters = { orderId: { description: "a" } };
const post = { ...data, method: "POST", path: "/a", errors: [], body: z.object({ count: z.number() }) } as const;
const ownErrors = { no_stock: { status: 409, message: "a" } } as const;
${line}
`;
  const lines = [
    `defineOperation({ ...data, path: "/a/{orderId}", parameters, errors: [], handle: async ({ parameters: { orderId } }) => ({ status: 200, body: String(orderId + 1n) }) });`,
    `createHandler({ store, operations: [...OPERATIONS, { ...data, path: "/a", errors: [] }] });`,
    `defineOperation({ ...data, path: "/a", errors: [] });`,
    `defineOperation({ ...data, path: "/a/{orderId}", errors: [], handle: async () => ({ status: 200 }) });`,
    `defineOperation({ ...data, path: "/a/{orderId}", parameters: { order: { description: "a" } }, errors: [], handle: async () => ({ status: 200 }) });`,
    `defineOperation({ ...data, path: "/a/{orderId}", parameters, errors: [], handle: async ({ parameters: { id } }) => ({ status: 200, body: id }) });`,
    `defineOperation({ ...data, path: "/a", errors: ["order_not_found"], handle: async () => ({ error: "pet_not_found" }) });`,
    `defineOperation({ ...data, path: "/a", errors: ["gone"], handle: async () => ({ status: 200 }) });`,
    `defineOperation({ ...post, ownErrors, handle: async ({ body, query }) => body.count > query ? { status: 200 } : { error: "no_stock" } });`,
    `defineOperation({ ...post, ownErrors, handle: async ({ body }) => body.count.toFixed() ? { status: 200 } : { error: "no_stock" } });`,
    `defineOperation({ ...post, ownErrors, handle: async ({ body }) => body.amount > 1 ? { status: 200 } : { error: "no_stock" } });`,
    `defineOperation({ ...post, ownErrors, handle: async () => ({ error: "no_stocks" }) });`,
    `defineOperation({ ...data, path: "/a", errors: [], handle: async ({ body }) => ({ status: 200, body: body.length }) });`,
  ];
  await Promise.all(lines.map((line, index) => writeFile(join(folder, `${index}.ts`), source(line))));
  const compilerOptions = {
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    declaration: false,
    isolatedDeclarations: false,
    noUnusedLocals: false,
    typeRoots: [join(root, "node_modules/@types")],
  };
  const settings = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  // It runs for seconds, so it collects no garbage.
  const env = { ...process.env, GOGC: "off" };
  const args = ["-p", folder, "--singleThreaded"];
  const compiled = promisify(execFile)(join(root, "node_modules/.bin/tsc"), args, { env });
  const { stdout = "" } = await compiled.catch((error: { stdout: string }) => error);
  await rm(folder, { recursive: true });
  const files = new Set([...stdout.matchAll(/(?:^|\/)(\d+)\.ts\(/gm)].map(([, file]) => file));
  const valid = ["0", "9"];
  const wrong = lines.map((_, index) => `${index}`).filter((index) => !valid.includes(index));
  expect(files, stdout).toEqual(new Set(wrong));
});
