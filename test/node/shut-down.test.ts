import type { Server } from "node:http";
import { expect, test, vi } from "vitest";
import { shutDown } from "../../lib/node/shut-down.ts";

test("a server that is not one of node:net, as in Bun, is closed by its own method", async () => {
  const close = vi.fn((done: () => void) => done());
  await shutDown({ server: { close } as unknown as Server, connections: new Map(), graceMs: 10 });
  expect(close).toHaveBeenCalled();
});
