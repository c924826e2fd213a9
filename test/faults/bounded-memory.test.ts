import { expect, test } from "vitest";
import { generateKey } from "../../lib/accounts/api-key.ts";
import { createHandler } from "../../lib/http/handler.ts";
import { MINUTE_MS } from "../../lib/plans/windows.ts";
import { createHandlerFixture } from "../http/fixture.ts";
import { memoryFigures } from "./load/growth.ts";
import { type Memory, memoryNow } from "./load/memory.ts";
import { reportFigures } from "./run.ts";

/** From the first sample on 90,000, so that 94 bytes that are kept of each are too many. */
const CALLERS = 150_000;

/** The number of networks that a process tracks. */
const MAX_NETWORKS = 50_000;

/** The address of a caller; every fourth one is IPv6, in its own /48. */
function addressOf(caller: number): string {
  if (caller % 4 === 0) return `2001:${(caller >> 16).toString(16)}:${(caller & 0xffff).toString(16)}::1`;
  return `10.${(caller >> 16) & 255}.${(caller >> 8) & 255}.${caller & 255}`;
}

test(`memory does not grow with ${CALLERS} unknown keys from as many addresses`, async () => {
  const fixture = await createHandlerFixture();
  const handler = createHandler({
    store: fixture.store,
    clock: () => fixture.time.now,
  });
  const request = new Request("http://localhost/v1/store/orders/1", { method: "DELETE" });
  const memory: Memory[] = [];
  for (let caller = 1; caller <= CALLERS; caller++) {
    // Keys with a valid checksum need a store call each; the store knows some of the accounts.
    const account = caller % 2 === 0 ? "shop" : `a${caller.toString(36)}`;
    request.headers.set("authorization", `Bearer ${generateKey("test", account)}`);
    // Fewer callers in a minute than networks are tracked: those above share one counter.
    if (caller % (MAX_NETWORKS / 2) === 0) fixture.time.now += MINUTE_MS;
    const { status } = await handler(request, { address: addressOf(caller) });
    if (status !== 401) expect.fail(`caller ${caller} got ${status}`);
    if (caller >= MAX_NETWORKS && caller % (CALLERS / 10) === 0) memory.push(await memoryNow());
  }
  reportFigures("bounded memory", {
    "unknown keys from as many addresses": CALLERS,
    ...memoryFigures(memory),
  });
});
