/**
 * A store of your own: one file of JSON lines that is rewritten at every change, for a few hundred orders and one process.
 * (Several processes would need a lock around each read and write.) The contract suite of store-orders tests it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "store-orders/contract";
import { accountsIn } from "./accounts.ts";
import { damageOrder } from "./data-file.ts";
import { ordersIn } from "./orders.ts";

const folder = mkdtempSync(join(tmpdir(), "own-store-"));
let [failed, skipped] = [0, 0];
for (const [index, { name, check }] of storeContract.entries()) {
  const path = join(folder, `data-${index}.jsonl`);
  const open = () => ({
    orders: ordersIn(path),
    accounts: accountsIn(path),
    check: async () => {},
    close: async () => {},
  });
  try {
    const reason = await check(open(), { openAnother: open, damage: (id) => damageOrder(path, id) });
    if (reason !== undefined) skipped += 1;
  } catch (error) {
    failed += 1;
    process.stdout.write(`failed: ${name}\n${error instanceof Error ? error.message : error}\n`);
  }
}
rmSync(folder, { recursive: true });
const passed = storeContract.length - failed - skipped;
process.stdout.write(`passed: ${passed}, failed: ${failed}, skipped: ${skipped}\n`);
process.exitCode = failed === 0 ? 0 : 1;
