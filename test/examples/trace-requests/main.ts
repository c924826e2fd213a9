/** The service with OpenTelemetry: prints the spans of its requests, each with the calls of the store below it. */
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { createAccounts, createOrders } from "store-orders";
import { createMemoryStore } from "store-orders/memory";
import { startNodeServer } from "store-orders/node";
import { createSqliteStore } from "store-orders/sqlite";
import { createTracedHandler } from "./tracing.ts";

// A service passes a BatchSpanProcessor with the exporter for its collector.
const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();

const store = createMemoryStore();
const accounts = createAccounts({ store: store.accounts, environment: "test" });
await accounts.create("acme", { plan: "pro" });
const issued = await accounts.issueKey("acme");
if (!issued.ok) throw new Error(issued.code);
await createOrders({ store: store.orders }).place({ id: 7n });

const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
const headers = { authorization: `Bearer ${issued.key}`, traceparent };
const server = await startNodeServer({ handler: createTracedHandler({ store }), port: 0 });
const url = `${server.url}/v1/store/orders`;
await (await fetch(url, { headers })).text();
await fetch(`${url}/7`, { method: "DELETE", headers });
await fetch(`${url}/7`, { method: "DELETE", headers });
await fetch(url);
await server.close();

const closed = createSqliteStore({ path: "orders.db" });
await closed.close();
await createTracedHandler({ store: closed })(new Request(url, { headers }));

const spans = exporter.getFinishedSpans();
const mark = ({ name, status }: ReadableSpan) =>
  status.code === SpanStatusCode.ERROR ? `${name} (failed)` : name;
for (const span of spans.filter(({ kind }) => kind === SpanKind.SERVER)) {
  const { spanId, traceId } = span.spanContext();
  const calls = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId).map(mark);
  const status = span.attributes["http.response.status_code"];
  const trace = traceparent.includes(traceId) ? "the caller's trace" : "a new trace";
  process.stdout.write(`${mark(span)}: ${status}, ${trace}, ${calls.join(", ") || "no call"}\n`);
}
