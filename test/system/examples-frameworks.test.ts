import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useExamples } from "./examples-fixture.ts";

const HOME = "200 the home page limit: -";
const HEALTH = '200 {"status":"ok"} limit: -';
const OPENAPI = expect.stringMatching(/^200 \{"openapi":"3.1.0",.* limit: -$/);
const HANDLER = [
  '200 [{"id":9223372036854775807,"petId":3}] limit: 300',
  "204  limit: 300",
  expect.stringMatching(/^401 \{"code":"missing_api_key",.* limit: 60$/),
];

const ROWS = [
  ["handler-in-hono", "under a path of a Hono application", [HOME, ...HANDLER, OPENAPI]],
  ["handler-in-express", "under a path of an Express application", [HOME, ...HANDLER, HEALTH]],
  ["handler-in-fastify", "under a path of a Fastify application", [HOME, ...HANDLER, HEALTH]],
  ["handler-in-next", "as a route of a Next.js application", [...HANDLER, HEALTH]],
  ["handler-in-workers", "in Cloudflare Workers without Node compatibility", [...HANDLER, OPENAPI]],
] as const;

const { homeOf, printed } = useExamples(...ROWS.map(([example]) => example));
// The packages are links out of the folder, which Next.js follows only below this root.
writeFileSync(
  join(homeOf("handler-in-next"), "next.config.js"),
  'export default { turbopack: { root: "/" }, outputFileTracingRoot: "/" };',
);

test.each(ROWS)("%s: the handler works %s", { timeout: 400_000 }, async (example, _where, lines) => {
  expect(await printed(example)).toEqual(lines);
});
