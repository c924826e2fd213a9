import { expect, test } from "vitest";
import * as z from "zod";
import { defineOperation } from "../../lib/http/define-operation.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { OPERATIONS } from "../../lib/http/operations.ts";
import type { HandlerOptions } from "../../lib/http/options.ts";
import { readStatus, store, whoAmI } from "./custom-operations-fixture.ts";

test("everything that is wrong with the paths and names of operations is reported at startup", () => {
  const wrong = [
    { ...whoAmI, id: "b", path: "/pets/" },
    { ...readStatus, id: "listOrders", parameters: {} },
    { ...readStatus, id: "listOrders", path: "/store/orders/{id}/status" },
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
    ["[2].parameters.id", describe],
    ["[2].parameters.orderId", noParameter("orderId")],
    ["[2].id", "Another operation is named listOrders too. Rename one."],
    ["[2].path", taken("id")],
  ].map(([where, message]) => ({ path: `operations${where}`, message }));
  expect(create).toThrow(expect.objectContaining({ issues }));
});

const success = { status: 200, description: "a" } as const;
const about = { id: "a", method: "GET", tag: "a", summary: "a", description: "a", success } as const;
const data = { ...about, path: "/a", errors: [] } as const;
const parameters = { orderId: { description: "a" } };
const atOrder = { ...data, path: "/a/{orderId}", parameters } as const;
const ownErrors = { no_stock: { status: 409, message: "a" } } as const;
const post = { ...data, method: "POST", body: z.object({ count: z.string() }), ownErrors } as const;
const ok = (body: string) => ({ status: 200, body }) as const;
const none = { error: "no_stock" } as const;

test("an operation with a mistake in its types does not compile, which the type check finds", () => {
  const define = defineOperation;
  const compiled = [
    () => define({ ...atOrder, handle: async ({ parameters: { orderId } }) => ok(`${orderId + 1n}`) }),
    () => define({ ...post, handle: async ({ body }) => (body.count.at(0) ? ok("") : none) }),
    // @ts-expect-error: it is not made by defineOperation.
    () => createHandler({ store, operations: [...OPERATIONS, data] }),
    // @ts-expect-error: it does nothing.
    () => define(data),
    // @ts-expect-error: its parameter is not described.
    () => define({ ...data, path: "/a/{orderId}", handle: async () => ok("") }),
    // @ts-expect-error: another parameter is described.
    () => define({ ...data, path: "/a/{id}", parameters, handle: async () => ok("") }),
    // @ts-expect-error: another parameter is read.
    () => define({ ...atOrder, handle: async ({ parameters: { id } }) => ok(id) }),
    // @ts-expect-error: the error is not among its own.
    () => define({ ...post, handle: async () => ({ error: "pet_not_found" }) }),
    // @ts-expect-error: there is no such error.
    () => define({ ...data, errors: ["gone"], handle: async () => ok("") }),
    // @ts-expect-error: it takes no query.
    () => define({ ...post, handle: async ({ query }) => ok(query.limit) }),
    // @ts-expect-error: the body has no such field.
    () => define({ ...post, handle: async ({ body }) => ok(body.amount) }),
    // @ts-expect-error: it takes no body.
    () => define({ ...data, handle: async ({ body }) => ok(body.count) }),
  ];
  for (const create of compiled.slice(0, 2)) expect(create).not.toThrow();
});
