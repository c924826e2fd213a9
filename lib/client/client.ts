import { type Failure, InvalidInputError, type Issue, invalidInput } from "../core/errors.ts";
import { systemClock, waitForTimer, wholeClock } from "../core/time.ts";
import type { OrderStatus } from "../orders/lifecycle.ts";
import { ORDER_FIELDS, type OrderRecord } from "../orders/order.ts";
import type { ApplyResult } from "../orders/order-store.ts";
import { type ApiError, MalformedListError } from "./client-errors.ts";
import type { ClientOptions, Fetch } from "./options.ts";
import { type OrdersPage, parseOrders, parsePage } from "./order-list.ts";
import { createRequestQueue } from "./request-queue.ts";
import { openBody, readText } from "./response.ts";
import { createSender } from "./sender.ts";
import { startTimeLimit } from "./time-limit.ts";

/** Options of a single call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A query for a page of orders. */
export interface PageQuery {
  /** The most orders on the page: 1 to 1,000. @default 100 */
  readonly limit?: number | undefined;
  /** `next` of the page before, which had the same `status` and `order`. @default the first page */
  readonly cursor?: string | undefined;
  /** Only orders with this status. @default every order */
  readonly status?: OrderStatus | undefined;
  /** The direction, by identifier. @default asc */
  readonly order?: "asc" | "desc" | undefined;
}

/** The result of `cancel`. */
export type CancelResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: keyof typeof FAILURES }
  | {
      readonly ok: false;
      readonly code: "order_already_cancelled";
      /** True if an earlier attempt of this call got no response and may have cancelled the order. */
      readonly maybeByThisCall: boolean;
    };

/** The operations of the service. Every error that is not part of a result is thrown as a `StoreOrdersError`. */
export interface Client {
  /** Every order, ascending by id, in bounded memory. Throws `IncompleteListError` or `MalformedListError`. */
  list(options?: CallOptions): AsyncGenerator<OrderRecord, void, undefined>;
  /** Cancels a pending order; safe to repeat. Rejects with `InvalidInputError` if the identifier is not an integer. */
  cancel(id: bigint, options?: CallOptions): Promise<CancelResult>;
  /** Only a service with the preview of v2 has pages. Rejects with `MalformedListError`. See lib/http/v2-preview.md. */
  page(query?: PageQuery, options?: CallOptions): Promise<OrdersPage>;
  /** Iterates over pages, from that of the query to the last one. Each is a request, and a call with its own time limits. */
  pages(query?: PageQuery, options?: CallOptions): AsyncGenerator<OrdersPage, void, undefined>;
}

/** Creates a client: one per key, because its requests share a queue. Throws `InvalidInputError`. */
export function createClient(options: ClientOptions): Client {
  checkOptions(Object(options));
  const { baseUrl, apiKey, maxAttempts = 5, maxWaitMs = 120_000 } = options;
  const { attemptTimeoutMs = 30_000, idleTimeoutMs = 30_000, totalTimeoutMs = Infinity } = options;
  const { sleep = waitForTimer, random = Math.random } = options;
  const clock = wholeClock(options.clock ?? systemClock);
  const { fetch = platformFetch } = options;
  const ordersUrl = `${baseUrl.replace(/\/+$/, "")}/store/orders`;
  const pagesUrl = `${baseUrl.replace(/\/v\d+\/*$/, "/v2")}/store/orders`;
  // The clock of the system can be set while a request waits.
  const { elapsedMs = options.clock === undefined ? () => performance.now() : clock } = options;
  const queue = createRequestQueue(clock, sleep, elapsedMs);
  const limits = { maxAttempts, attemptTimeoutMs, maxWaitMs };
  const send = createSender({ apiKey, fetch, queue, clock, sleep, random, ...limits });
  const startCall = (signal: AbortSignal | undefined) => {
    const deadline = elapsedMs() + totalTimeoutMs;
    return { ...startTimeLimit("total", totalTimeoutMs, signal), deadline };
  };

  async function page(query: PageQuery = {}, callOptions: CallOptions = {}): Promise<OrdersPage> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, `${value}`);
    const { signal, deadline, release } = startCall(callOptions.signal);
    try {
      const url = `${pagesUrl}?${search}`;
      const read = (response: Response, within: AbortSignal) => readText(response, MAX_PAGE_BYTES, within);
      const sent = await send({ ...LIST, read, url, signal, deadline });
      if (!sent.ok) throw sent.error;
      return parsePage(sent.value);
    } finally {
      release();
    }
  }

  return {
    page,

    async *pages(query = {}, callOptions = {}) {
      for (let { cursor } = query; ; ) {
        const found = await page({ ...query, cursor }, callOptions);
        yield found;
        if (found.next === undefined) return;
        if (found.next === cursor) throw new MalformedListError("The page leads to itself.");
        cursor = found.next;
      }
    },

    async *list(callOptions = {}) {
      const { signal, deadline, release } = startCall(callOptions.signal);
      try {
        const sent = await send({ ...LIST, url: ordersUrl, signal, deadline });
        if (!sent.ok) throw sent.error;
        yield* parseOrders(sent.value, { idleTimeoutMs, signal });
      } finally {
        release();
      }
    },

    async cancel(id, callOptions = {}) {
      // A number above 2^53 has lost digits, so it would be another order.
      const problem = typeof id === "bigint" ? undefined : ORDER_FIELDS.id.validate(id);
      if (problem !== undefined) throw invalidInput("id", problem);
      const { signal, deadline, release } = startCall(callOptions.signal);
      try {
        const url = `${ordersUrl}/${BigInt(id)}`;
        const sent = await send({ ...CANCEL, url, signal, deadline });
        return sent.ok ? { ok: true } : toCancelResult(sent.error, sent.ambiguous);
      } finally {
        release();
      }
    },
  };
}

/** The `fetch` of the platform at the time of the call. Throws an error that is not retried if there is none. */
const platformFetch: Fetch = (url, init) => {
  if (typeof globalThis.fetch !== "function")
    throw new Error("This environment has no fetch. Pass one as the option 'fetch'.");
  return globalThis.fetch(url, init);
};

function toCancelResult(error: ApiError, maybeByThisCall: boolean): CancelResult {
  const { code } = error;
  if (code === "order_already_cancelled") return { ok: false, code, maybeByThisCall };
  if (!Object.hasOwn(FAILURES, code)) throw error;
  return { ok: false, code: code as keyof typeof FAILURES };
}

/** The codes that are results of a cancel, beside that of one that was made before. */
const FAILURES = { order_not_found: true, order_already_shipped: true } as const satisfies Record<
  Exclude<(ApplyResult<"cancel"> & Failure<string>)["code"], "order_already_cancelled">,
  true
>;

/** A web page with status 200 comes from a proxy. The parser checks any other body. */
const LIST = {
  method: "GET",
  isSuccess: ({ status, headers }: Response) =>
    status === 200 && !/^text\/html\b/i.test(headers.get("content-type") ?? ""),
  read: openBody,
} as const;

/** Far above the size of any page. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A response with any other status, such as 200 or 202, was sent by a proxy. */
const CANCEL = {
  method: "DELETE",
  isSuccess: ({ status }: Response) => status === 204,
  read: async () => undefined,
} as const;

const NUMBERS = ["maxAttempts", "attemptTimeoutMs", "idleTimeoutMs", "totalTimeoutMs", "maxWaitMs"] as const;

/** Throws `InvalidInputError` if an option is invalid. The message never contains the URL or the key. */
function checkOptions(options: ClientOptions): void {
  const issues: Issue[] = [];
  const message = findBaseUrlProblem(options.baseUrl);
  if (message !== undefined) issues.push({ path: "baseUrl", message });
  const keyRule = "Write the key exactly as it was issued, without spaces or line breaks.";
  // A caller without types can pass a variable that is not set, which would be sent as 'undefined'.
  if (typeof options.apiKey !== "string" || !/^[\x21-\x7e]+$/.test(options.apiKey))
    issues.push({ path: "apiKey", message: keyRule });
  for (const path of NUMBERS) {
    // The negation also rejects NaN, which would turn a limit off.
    const { [path]: value = 0 } = options;
    if (!(typeof value === "number" && value >= 0))
      issues.push({ path, message: "Write a number of at least 0." });
  }
  if (issues.length > 0) throw new InvalidInputError(issues);
}

function findBaseUrlProblem(text: string): string | undefined {
  const url = typeof text === "string" && !/[?#]| $/.test(text) ? URL.parse(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return "Write a URL such as https://orders.example.com/v1, without user, query and fragment.";
  return /\/v\d+\/*$/.test(url.pathname)
    ? undefined
    : "The base URL ends with the version of the API. Add /v1, as in https://orders.example.com/v1.";
}
