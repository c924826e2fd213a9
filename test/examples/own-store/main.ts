/**
 * A store of one's own: one file of JSON lines, rewritten whole at every change, for a shop with a few hundred orders
 * and one process (a second one would need a lock around each read and write). The suite that store-orders judges its
 * own stores by judges this one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "store-orders/contract";
import { accountsIn } from "./accounts.ts";
import { ordersIn } from "./orders.ts";

const folder = mkdtempSync(join(tmpdir(), "own-store-"));
let broken = 0;
for (const [index, { name, check }] of storeContract.entries()) {
  const path = join(folder, `shop-${index}.jsonl`);
  try {
    await check({ orders: ordersIn(path), accounts: accountsIn(path), close: async () => {} });
  } catch (error) {
    broken += 1;
    process.stdout.write(`broken: ${name}\n${error instanceof Error ? error.message : error}\n`);
  }
}
rmSync(folder, { recursive: true });
process.stdout.write(`promises kept: ${storeContract.length - broken}, broken: ${broken}\n`);
process.exitCode = broken === 0 ? 0 : 1;
