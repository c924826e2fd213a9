/** The load if wrk is missing: `autocannon-load.mjs '{"url", "seconds", "connections", "method", "path", …}'`. */
import autocannon from "autocannon";

const { url, seconds, connections, method, path, keys, firstId } = JSON.parse(process.argv[2]);
let turn = 0;
let id = firstId;
const requests = [
  {
    method,
    path,
    setupRequest(request) {
      const headers = { ...request.headers, authorization: `Bearer ${keys[turn++ % keys.length]}` };
      return id === undefined ? { ...request, headers } : { ...request, headers, path: `${path}${++id}` };
    },
  },
];
const result = await autocannon({ url, duration: seconds, connections, requests });
const { latency, duration, errors, timeouts, non2xx } = result;
const requestsDone = result["2xx"] + non2xx;
process.stdout.write(
  JSON.stringify({
    requests: requestsDone,
    seconds: duration,
    p50: latency.p50,
    p99: latency.p99,
    rejected: non2xx,
    failed: errors + timeouts,
  }),
);
