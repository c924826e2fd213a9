import { toLine } from "../../../lib/orders/wire.ts";
import type { CommandLine } from "../../support/command-line.ts";
import { type LocalAddress, storeOptions } from "../../support/store-address.ts";
import type { SeededRandom } from "../run.ts";
import { type AcknowledgedState, recordAcknowledgements } from "./acknowledged-state.ts";
import { idsFrom, importedOrder, openAccount, pendingOrder, placeOrders } from "./fixture.ts";
import { createHttpCaller, type HttpCaller } from "./http-caller.ts";
import { createKillSchedule } from "./kill-schedule.ts";
import { startCommand, startServer, startWorker, type TestProcess } from "./test-process.ts";
import type { Acknowledgement } from "./worker-process.ts";

const PENDING = 1_500;
const TO_SHIP = 400;
const LINES = 3_000;
const CALLERS = 16;
/** Fewer than the cancels alone, so that every kill is reached. */
const MAX_ACKNOWLEDGEMENTS = 1_000;

/** What a round works with, and what earlier rounds have acknowledged. */
export interface RoundContext {
  readonly cli: CommandLine;
  readonly address: LocalAddress;
  /** Of the account that cancels. */
  readonly key: string;
  readonly state: AcknowledgedState;
  readonly random: SeededRandom;
}

/** Runs a server and several workers on one database, and kills them. Returns the number of killed processes. */
export async function runRound(name: string, firstOrder: bigint, context: RoundContext): Promise<number> {
  const { cli, address, state, random } = context;
  const orders = idsFrom(firstOrder, PENDING);
  const lines = idsFrom(firstOrder + BigInt(PENDING), LINES);
  await placeOrders(address, orders.map(pendingOrder), state.ledger);
  const [earlyKey, lateKey] = [
    await openAccount(address, `${name}-early`, 1),
    await openAccount(address, `${name}-late`, 1),
  ];
  const [server, ...workers] = await Promise.all([
    startServer(cli, address),
    startWorker(address),
    startWorker(address),
    startWorker(address),
  ]);
  using caller = createHttpCaller(server.url);
  await floodUntilBanned(caller, earlyKey, state);

  const killSchedule = createKillSchedule(random, MAX_ACKNOWLEDGEMENTS);
  const record = recordAcknowledgements(state, lines);
  const onAcknowledgement = (acknowledgement: Acknowledgement) => {
    killSchedule.acknowledged();
    record(acknowledgement);
  };
  const shipping = chooseShipments(orders.slice(0, TO_SHIP), context);
  const issuing = { accounts: Array.from({ length: 10 }, (_, index) => `${name}-${index}`), keysEach: 5 };
  for (const id of lines) state.ledger.submitted(importedOrder(id));
  const importing = { lines: lines.map((id) => `${toLine(importedOrder(id))}\n`).join("") };

  const processes: TestProcess[] = [
    ...workers,
    ...(await startCommands(name, importing.lines, onAcknowledgement, context)),
  ];
  killSchedule.add(server);
  for (const target of processes) if (random.chance(0.75)) killSchedule.add(target);
  for (const [index, job] of [shipping, importing, issuing].entries())
    workers[index]?.start(job, onAcknowledgement);
  const remaining = orders.values();
  await Promise.all([
    ...Array.from({ length: CALLERS }, () =>
      cancelOrders(caller, remaining, context, killSchedule.acknowledged),
    ),
    floodUntilBanned(caller, lateKey, state),
  ]);
  killSchedule.killRemaining();
  const ends = await Promise.all([server, ...processes].map(({ ended }) => ended));
  return ends.filter((end) => end === "killed").length;
}

/** Some of the orders that are being cancelled, in reverse order. */
function chooseShipments(orders: readonly bigint[], { state, random }: RoundContext) {
  const ship = orders.filter(() => random.chance(0.7)).toReversed();
  const fulfil = new Set(ship.filter(() => random.chance(0.5)));
  for (const id of ship) state.ledger.requested(id, "ship");
  for (const id of fulfil) state.ledger.requested(id, "fulfil");
  return { ship, fulfil };
}

/** Commands beside the workers: the same import again, and another key, each in half of the rounds. */
async function startCommands(
  name: string,
  input: string,
  onAcknowledgement: (acknowledgement: Acknowledgement) => void,
  { cli, address, random }: RoundContext,
): Promise<readonly TestProcess[]> {
  const commands: TestProcess[] = [];
  const database = storeOptions(address);
  if (random.chance(0.5)) {
    const onResult = () => onAcknowledgement({ upToLine: LINES });
    commands.push(startCommand(cli, ["orders", "import", "-", ...database], { input, onResult }));
  }
  if (random.chance(0.5)) {
    const account = `${name}-command`;
    await openAccount(address, account, 10);
    const onResult = (result: unknown) => onAcknowledgement(result as { account: string; key: string });
    commands.push(startCommand(cli, ["keys", "issue", "--account", account, ...database], { onResult }));
  }
  return commands;
}

async function cancelOrders(
  caller: HttpCaller,
  ids: Iterable<bigint>,
  { key, state }: RoundContext,
  acknowledged: () => void,
): Promise<void> {
  const { ledger, meter, counts } = state;
  for (const id of ids) {
    ledger.requested(id, "cancel");
    meter.sent();
    const response = await caller.cancel(id, key);
    if (response === undefined) return;
    // The outcome is unknown.
    if (response.status === 503) continue;
    meter.responded(response);
    if (response.status === 204) counts.cancelled++;
    ledger.observed(id, response.code === "order_already_shipped" ? "shipped" : "cancelled");
    acknowledged();
  }
}

/** No order has this identifier: a request that is admitted and changes nothing. */
export const MISSING_ORDER = -1n;

/** Sends requests until the key is banned. */
async function floodUntilBanned(caller: HttpCaller, key: string, { bans }: AcknowledgedState): Promise<void> {
  for (;;) {
    const response = await caller.cancel(MISSING_ORDER, key);
    if (response === undefined) return;
    if (response.code === "api_key_banned") {
      bans.set(key, Number(response.headers["x-ratelimit-reset"]));
      return;
    }
  }
}
