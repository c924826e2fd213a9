/**
 * A process that can be killed: it changes orders, and reports how many changes of each the store has acknowledged, or
 * delivers their changes, or does both. `process.ts JOB`, as JSON.
 */

import { isStoreUnavailable } from "../../../lib/core/errors.ts";
import { deliverChanges } from "../../../lib/orders/delivery.ts";
import { createOrders } from "../../../lib/orders/orders.ts";
import { openStore, type StoreAddress } from "../../support/store-address.ts";
import { deliverTo, fastTime } from "./receiver.ts";

export interface Job {
  readonly address: StoreAddress;
  /** The receiver of changes. None if the process delivers nothing. */
  readonly receiver?: string;
  readonly firstOrder?: number;
  /** The start of the time that runs faster; see `fastTime`. */
  readonly epoch: number;
}

/** How many changes of an order the store has acknowledged. */
export interface Acknowledgement {
  readonly id: string;
  readonly changes: number;
}

const LANES = 4;

const { address, receiver, firstOrder, epoch } = JSON.parse(process.argv[2] ?? "") as Job;
const store = await openStore(address);
const { clock, wait } = fastTime(epoch);
if (receiver !== undefined)
  deliverChanges({ store, deliver: deliverTo(receiver), onError: () => {}, timeoutMs: 20_000, clock, wait });
if (firstOrder !== undefined) {
  const orders = createOrders({ store: store.orders, clock, by: `process-${process.pid}` });
  let next = firstOrder;
  const lane = async () => {
    for (;;) {
      const id = BigInt(next++);
      let changes = 0;
      const report = ({ ok }: { readonly ok: boolean }) => {
        if (ok) process.send?.({ id: `${id}`, changes: ++changes } satisfies Acknowledgement);
      };
      try {
        report(await orders.place({ id }));
        if (id % 5n === 0n) continue;
        report(await (id % 2n === 0n ? orders.cancel(id) : orders.ship(id)));
        if (id % 3n === 0n) report(await orders.fulfil(id));
      } catch (error) {
        if (!isStoreUnavailable(error)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  for (let lanes = 0; lanes < LANES; lanes++) void lane();
}
process.send?.("ready");
