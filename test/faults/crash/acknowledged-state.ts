import { type Ledger, openLedger } from "./ledger.ts";
import { type Meter, openMeter } from "./meter.ts";
import type { Acknowledgement } from "./worker-process.ts";

/** All that was acknowledged to somebody. */
export interface AcknowledgedState {
  readonly ledger: Ledger;
  /** Of the account that cancels. */
  readonly meter: Meter;
  readonly accounts: Set<string>;
  /** Keys that were shown. */
  readonly keys: Set<string>;
  /** Keys that were told to be banned, and until which second. */
  readonly bans: Map<string, number>;
  /** How many changes were acknowledged. */
  readonly counts: { cancelled: number; shipped: number; imported: number };
}

/** Begins with nothing. */
export function openEvidence(): AcknowledgedState {
  return {
    ledger: openLedger(),
    meter: openMeter(),
    accounts: new Set(),
    keys: new Set(),
    bans: new Map(),
    counts: { cancelled: 0, shipped: 0, imported: 0 },
  };
}

/** Keeps what the processes of one round are told by the store; `lines` are the orders that they import. */
export function createListener(
  evidence: AcknowledgedState,
  lines: readonly bigint[],
): (told: Acknowledgement) => void {
  const { ledger, accounts, keys, counts } = evidence;
  let imported = 0;
  return (told) => {
    if ("upToLine" in told) {
      for (const id of lines.slice(imported, told.upToLine)) ledger.placed(id);
      counts.imported += Math.max(0, told.upToLine - imported);
      imported = Math.max(imported, told.upToLine);
    } else if ("id" in told) {
      ledger.told(told.id, told.status, told.complete);
      if (told.moved) counts.shipped++;
    } else {
      accounts.add(told.account);
      if (told.key !== undefined) keys.add(told.key);
    }
  };
}
