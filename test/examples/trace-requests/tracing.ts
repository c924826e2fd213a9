/** OpenTelemetry spans: one for each request, and below it one for each call of the store. */
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { createHandler, type Handler, type HandlerOptions } from "store-orders/http";

const tracer = trace.getTracer("store-orders");

/** Like `createHandler`, with spans. A request continues the trace in its `traceparent`. */
export function createTracedHandler(options: HandlerOptions): Handler {
  const handler = createHandler({
    ...options,
    store: traceCalls("store", options.store),
    // It is called in the context of its request, once the body has ended.
    onRequest(event, client) {
      const span = trace.getActiveSpan();
      span?.updateName(`${event.method} ${event.operation ?? "unknown"}`);
      span?.setAttributes({
        "http.request.method": event.method,
        "http.response.status_code": event.status,
        "store_orders.request_id": event.requestId,
        ...(event.path === undefined ? {} : { "url.path": event.path }),
        ...(event.accountId === undefined ? {} : { "store_orders.account": event.accountId }),
        ...(event.errorCode === undefined ? {} : { "error.type": event.errorCode }),
      });
      if (event.status >= 500 || event.bodyEnd === "failed") fail(span, event.error);
      span?.end();
      options.onRequest?.(event, client);
    },
  });
  return (request, client) => {
    const parent = propagation.extract(context.active(), Object.fromEntries(request.headers));
    return tracer.startActiveSpan(request.method, { kind: SpanKind.SERVER }, parent, () =>
      handler(request, client),
    );
  };
}

/**
 * A store whose every call is a span: `store.accounts.admit`. Each object of it has one wrapper, so that the accounts
 * perform operations on the wrapped orders (`performsOn`).
 */
function traceCalls<T extends object>(name: string, target: T, wrappers = new Map<object, unknown>()): T {
  const known = wrappers.get(target);
  if (known !== undefined) return known as T;
  const wrapper = new Proxy(target, {
    get(_target, key) {
      const value: unknown = Reflect.get(target, key);
      const called = `${name}.${String(key)}`;
      if (typeof value === "object" && value !== null) return traceCalls(called, value, wrappers);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        tracer.startActiveSpan(called, { kind: SpanKind.CLIENT }, (span) => {
          const result: unknown = value.apply(target, args);
          if (isIterable(result)) return traceIteration(span, result);
          return Promise.resolve(result)
            .catch((error: unknown) => {
              fail(span, error);
              throw error;
            })
            .finally(() => span.end());
        });
    },
  });
  wrappers.set(target, wrapper);
  return wrapper;
}

/** A list is read while the response is sent: its span ends with its last page. */
async function* traceIteration<T>(span: Span, items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function fail(span: Span | undefined, error: unknown): void {
  span?.setStatus({ code: SpanStatusCode.ERROR });
  if (error instanceof Error) span?.recordException(error);
}
