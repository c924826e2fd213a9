import { toLine } from "../../../lib/orders/wire.ts";
import type { CommandLine } from "../../support/command-line.ts";
import type { Choices } from "../run.ts";
import { type AcknowledgedState, createListener } from "./acknowledged-state.ts";
import { type Caller, httpCaller } from "./http-caller.ts";
import { createFuses } from "./kill-schedule.ts";
import { idsFrom, importedOrder, openAccount, pendingOrder, placeOrders } from "./scenario.ts";
import { startCommand, startServer, startWorker, type TestProcess } from "./test-process.ts";
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
  readonly evidence: AcknowledgedState;
  readonly random: Choices;
}

/** Lets a server and several others work on one database, and kills them; tells how many were killed. */
export async function runRound(name: string, firstOrder: bigint, scene: Scene): Promise<number> {
  const { cli, path, evidence, random } = scene;
  const orders = idsFrom(firstOrder, PENDING);
  const lines = idsFrom(firstOrder + BigInt(PENDING), LINES);
  await placeOrders(path, orders.map(pendingOrder), evidence.ledger);
  const [early, late] = [
    await openAccount(path, `${name}-early`, 1),
    await openAccount(path, `${name}-late`, 1),
  ];
  const [server, ...workers] = await Promise.all([
    startServer(cli, path),
    startWorker(path),
    startWorker(path),
    startWorker(path),
  ]);
  using caller = httpCaller(server.url);
  await flooding(caller, early, evidence);

  const fuses = createFuses(random, MOST_ACKNOWLEDGED);
  const listen = createListener(evidence, lines);
  const hear = (told: Acknowledgement) => {
    fuses.acknowledged();
    listen(told);
  };
  const shipping = chooseShipments(orders.slice(0, TO_SHIP), scene);
  const issuing = { accounts: Array.from({ length: 10 }, (_, index) => `${name}-${index}`), keysEach: 5 };
  for (const id of lines) evidence.ledger.handedOver(importedOrder(id));
  const importing = { lines: lines.map((id) => `${toLine(importedOrder(id))}\n`).join("") };

  const victims: TestProcess[] = [...workers, ...(await startCommands(name, importing.lines, hear, scene))];
  fuses.light(server);
  for (const victim of victims) if (random.chance(0.75)) fuses.light(victim);
  for (const [index, job] of [shipping, importing, issuing].entries()) workers[index]?.begin(job, hear);
  const remaining = orders.values();
  await Promise.all([
    ...Array.from({ length: CALLERS }, () => cancelling(caller, remaining, scene, fuses.acknowledged)),
    flooding(caller, late, evidence),
  ]);
  fuses.burnOut();
  const ends = await Promise.all([server, ...victims].map(({ over }) => over));
  return ends.filter((end) => end === "killed").length;
}

/** Some of the orders that are cancelled meanwhile, from their other end. */
function chooseShipments(orders: readonly bigint[], { evidence, random }: Scene) {
  const ship = orders.filter(() => random.chance(0.7)).toReversed();
  const fulfil = new Set(ship.filter(() => random.chance(0.5)));
  for (const id of ship) evidence.ledger.asked(id, "ship");
  for (const id of fulfil) evidence.ledger.asked(id, "fulfil");
  return { ship, fulfil };
}

/** The command line beside the workers: the same import once more, and another key, each in half of the rounds. */
async function startCommands(
  name: string,
  input: string,
  hear: (told: Acknowledgement) => void,
  { cli, path, random }: Scene,
): Promise<readonly TestProcess[]> {
  const commands: TestProcess[] = [];
  const database = ["--database", path];
  if (random.chance(0.5)) {
    const told = () => hear({ upToLine: LINES });
    commands.push(startCommand(cli, ["orders", "import", "-", ...database], { input, told }));
  }
  if (random.chance(0.5)) {
    const account = `${name}-command`;
    await openAccount(path, account, 10);
    const told = (result: unknown) => hear(result as { account: string; key: string });
    commands.push(startCommand(cli, ["keys", "issue", "--account", account, ...database], { told }));
  }
  return commands;
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
async function flooding(caller: Caller, key: string, { bans }: AcknowledgedState): Promise<void> {
  for (;;) {
    const answer = await caller.cancel(NOBODY, key);
    if (answer === undefined) return;
    if (answer.code === "api_key_banned") {
      bans.set(key, Number(answer.headers["x-ratelimit-reset"]));
      return;
    }
  }
}
