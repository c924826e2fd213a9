import { createLedger, type Ledger } from "./ledger.ts";
import { createMeter, type Meter } from "./meter.ts";
import type { Acknowledgement } from "./worker-process.ts";

/** Everything that was acknowledged to a caller. */
export interface AcknowledgedState {
  readonly ledger: Ledger;
  /** The meter of the account that cancels. */
  readonly meter: Meter;
  readonly accounts: Set<string>;
  /** Keys that were shown. */
  readonly keys: Set<string>;
  /** Keys that were reported as banned, and until which second. */
  readonly bans: Map<string, number>;
  /** How many changes were acknowledged. */
  readonly counts: { cancelled: number; shipped: number; imported: number };
}

/** Creates an empty state. */
export function createAcknowledgedState(): AcknowledgedState {
  return {
    ledger: createLedger(),
    meter: createMeter(),
    accounts: new Set(),
    keys: new Set(),
    bans: new Map(),
    counts: { cancelled: 0, shipped: 0, imported: 0 },
  };
}

/** Creates a function that records the acknowledgements of a round. `lines` are the orders that are imported. */
export function recordAcknowledgements(
  state: AcknowledgedState,
  lines: readonly bigint[],
): (acknowledgement: Acknowledgement) => void {
  const { ledger, accounts, keys, counts } = state;
  let imported = 0;
  return (acknowledgement) => {
    if ("upToLine" in acknowledgement) {
      for (const id of lines.slice(imported, acknowledgement.upToLine)) ledger.placed(id);
      counts.imported += Math.max(0, acknowledgement.upToLine - imported);
      imported = Math.max(imported, acknowledgement.upToLine);
    } else if ("id" in acknowledgement) {
      ledger.observed(acknowledgement.id, acknowledgement.status, acknowledgement.complete);
      if (acknowledgement.moved) counts.shipped++;
    } else {
      accounts.add(acknowledgement.account);
      if (acknowledgement.key !== undefined) keys.add(acknowledgement.key);
    }
  };
}
