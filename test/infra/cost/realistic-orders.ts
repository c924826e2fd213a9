import { gzipSync } from "node:zlib";
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";
import { orderToJson } from "../../../lib/orders/wire.ts";

const DAY_MS = 86_400_000;

/** How many times smaller gzip makes a list of orders that differ as in a real store, with identifiers of 19 digits. */
export function compressionRatio(count = 20_000): number {
  const random = xoroshiro128plus(1);
  const int = (max: number) => uniformInt(random, 0, max);
  let [id, at] = [4_611_686_018_427_387_904n, Date.UTC(2026, 0, 1)];
  const wires = Array.from({ length: count }, () => {
    // As from a generator of identifiers that begin with the time.
    at += int(60_000);
    id += BigInt(int(2 ** 30)) * 1_024n + BigInt(int(1_023));
    const order = { id, petId: BigInt(int(80_000)), quantity: 1 + Math.min(int(4), int(4)) };
    const isShipped = int(9) < 7;
    if (!isShipped) return orderToJson({ ...order, complete: false });
    const shipDate = new Date(at + int(3 * DAY_MS)).toISOString();
    return orderToJson({ ...order, shipDate, complete: int(9) < 9 });
  });
  const list = `[${wires.join(",")}]`;
  return list.length / gzipSync(list).length;
}
