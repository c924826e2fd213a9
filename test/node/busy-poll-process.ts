/**
 * Serves a client that sends one request after another, and prints the most turns of the event loop in one request, on
 * average over 200: `busy-poll-process.ts [poll | sleep]`. Ends once there were ten, or after 10,000 requests.
 */
import { connect } from "node:net";
import { performance } from "node:perf_hooks";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { startNodeServer } from "../../lib/node/server.ts";

const BATCH = 200;
const MAX_BATCHES = 50;

if (isMainThread) {
  const turns = () => performance.nodeTiming.uvMetricsInfo.loopCount;
  let count = 0;
  let before = turns();
  let most = 0;
  const handler = async () => {
    if (++count % BATCH === 0) {
      most = Math.max(most, (turns() - before) / BATCH);
      before = turns();
      if (most > 10 || count === BATCH * MAX_BATCHES) {
        process.stdout.write(`${most}`);
        process.exit();
      }
    }
    return new Response();
  };
  const busyPoll = process.argv[2] === "poll";
  const { url } = await startNodeServer({ handler, port: 0, busyPoll });
  new Worker(new URL(import.meta.url), { workerData: Number(new URL(url).port) });
} else {
  const socket = connect(workerData as number, "127.0.0.1");
  const send = () => socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.setNoDelay().on("connect", send).on("data", send);
}
