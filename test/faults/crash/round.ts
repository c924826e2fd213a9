import { toLine } from "../../../lib/orders/order.ts";
import type { CommandLine } from "../../cli/command-line.ts";
import type { Choices } from "../run.ts";
import type { Evidence } from "./aftermath.ts";
import { createFuses } from "./fuses.ts";
import { type Caller, httpCaller } from "./http-caller.ts";
import { idsFrom, importedOrder, openAccount, pendingOrder, placeOrders } from "./stage.ts";
import { startCommand, startServer, startWorker, type Victim } from "./victims.ts";
import type { Acknowledgement } from "./worker-process.ts";

const PENDING = 1_500;
const TO_SHIP = 400;
const LINES = 3_000;
const CALLERS = 16;
/** Below what the callers alone have acknowledged to them, so that every fuse burns down. */
const MOST_ACKNOWLEDGED = 1_000;

/** Where a round is held, and what is known from those before it. */
export interface Scene {
  readonly cli: CommandLine;
  readonly path: string;
  /** Of the account that cancels. */
  readonly key: string;
  readonly evidence: Evidence;
  readonly random: Choices;
}

/** Lets a server and three others work on one database, and kills them; tells how many were killed. */
export async function runRound(name: string, firstOrder: bigint, scene: Scene): Promise<number> {
  const { cli, path, evidence, random } = scene;
  const { ledger } = evidence;
  const orders = idsFrom(firstOrder, PENDING);
  const lines = idsFrom(firstOrder + BigInt(PENDING), LINES);
  await placeOrders(path, orders.map(pendingOrder), ledger);
  for (const id of lines) ledger.handedOver(importedOrder(id));
  const ndjson = lines.map((id) => `${toLine(importedOrder(id))}\n`).join("");
  const [early, late] = [
    await openAccount(path, `${name}-early`, 1),
    await openAccount(path, `${name}-late`, 1),
  ];

  const [server, shipper, importer, issuer] = await Promise.all([
    startServer(cli, path),
    startWorker(path),
    startWorker(path),
    startWorker(path),
  ]);
  using caller = httpCaller(server.url);
  const fuses = createFuses(random, MOST_ACKNOWLEDGED);

  let importedLines = 0;
  function learn(told: Acknowledgement): void {
    fuses.acknowledged();
    if ("upToLine" in told) {
      for (const id of lines.slice(0, told.upToLine)) ledger.placed(id);
      evidence.counts.imported += Math.max(0, told.upToLine - importedLines);
      importedLines = Math.max(importedLines, told.upToLine);
    } else if ("id" in told) {
      ledger.told(told.id, told.status, told.complete);
      if (told.moved) evidence.counts.shipped++;
    } else {
      evidence.accounts.add(told.account);
      if (told.key !== undefined) evidence.keys.add(told.key);
    }
  }

  const toShip = orders.slice(0, TO_SHIP).filter(() => random.chance(0.7));
  const toFulfil = new Set(toShip.filter(() => random.chance(0.5)));
  for (const id of toShip) ledger.asked(id, "ship");
  for (const id of toFulfil) ledger.asked(id, "fulfil");

  const victims: Victim[] = [shipper, importer, issuer];
  if (random.chance(0.5)) {
    const told = () => learn({ upToLine: LINES });
    const words = ["orders", "import", "-", "--database", path];
    victims.push(startCommand(cli, words, { input: ndjson, told }));
  }
  if (random.chance(0.5)) {
    const account = `${name}-command`;
    await openAccount(path, account, 10);
    const told = (result: unknown) => learn(result as { account: string; key: string });
    victims.push(startCommand(cli, ["keys", "issue", "--account", account, "--database", path], { told }));
  }
  await flooding(caller, early, evidence);
  fuses.light(server);
  for (const victim of victims) if (random.chance(0.75)) fuses.light(victim);
  shipper.begin({ ship: toShip.toReversed(), fulfil: toFulfil }, learn);
  importer.begin({ lines: ndjson }, learn);
  issuer.begin(
    { accounts: Array.from({ length: 10 }, (_, index) => `${name}-${index}`), keysEach: 5 },
    learn,
  );

  const remaining = orders.values();
  await Promise.all([
    ...Array.from({ length: CALLERS }, () => cancelling(caller, remaining, scene, fuses.acknowledged)),
    flooding(caller, late, evidence),
  ]);
  fuses.burnOut();
  const ends = await Promise.all([server, ...victims].map(({ over }) => over));
  return ends.filter((end) => end === "killed").length;
}

async function cancelling(
  caller: Caller,
  ids: Iterable<bigint>,
  { key, evidence }: Scene,
  acknowledged: () => void,
): Promise<void> {
  const { ledger, meter, counts } = evidence;
  for (const id of ids) {
    ledger.asked(id, "cancel");
    meter.sent();
    const answer = await caller.cancel(id, key);
    if (answer === undefined) return;
    // Nothing is known of it then.
    if (answer.status === 503) continue;
    meter.answered(answer);
    if (answer.status === 204) counts.cancelled++;
    ledger.told(id, answer.code === "order_already_shipped" ? "shipped" : "cancelled");
    acknowledged();
  }
}

/** No order has this identifier: a request that is admitted and changes nothing. */
export const NOBODY = -1n;

/** Makes requests until the key is told to be banned. */
async function flooding(caller: Caller, key: string, { bans }: Evidence): Promise<void> {
  for (;;) {
    const answer = await caller.cancel(NOBODY, key);
    if (answer === undefined) return;
    if (answer.code === "api_key_banned") {
      bans.set(key, Number(answer.headers["x-ratelimit-reset"]));
      return;
    }
  }
}
