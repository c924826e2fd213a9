import { createLookupLimit } from "../accounts/lookup-limit.ts";
import { settleWithin } from "../core/concurrency.ts";
import { splitTarget } from "../core/request-target.ts";
import { type Clock, type Instant, MAX_STORE_CALL_MS } from "../core/time.ts";
import { bareHost, type HostRoute, type HostRouter, MISDIRECTED } from "../domains/routing.ts";
import type { Cors } from "./cors.ts";
import type { createServedDocument } from "./openapi.ts";
import type { Operation } from "./operations.ts";
import type { HandlerOptions } from "./options.ts";
import { OPENAPI_PATH } from "./path.ts";
import { type DocumentSource, type Reply, readReply } from "./reply.ts";
import type { RequestContext, RequestHead } from "./request.ts";
import { type RequestResult, STORE_UNAVAILABLE } from "./response.ts";

interface ParsedRequest {
  readonly request: RequestHead;
  readonly context: RequestContext;
  /** Path and query as received, with the prefix that a framework has removed. */
  readonly originalTarget: string;
  readonly path: string;
}

/** Replies to requests that need no key and are not counted. Returns `undefined` for a request to the API. */
export function createPublicReplies(
  { store, hosts, plans, keys, openapi, documents }: HandlerOptions,
  { operations, cors, clock }: { operations: readonly Operation[]; cors: Cors | undefined; clock: Clock },
): (parsed: ParsedRequest) => RequestResult | Promise<RequestResult | undefined> | undefined {
  const checkReadiness = createReadinessCheck(store, clock);
  let openApi: ReturnType<typeof createServedDocument> | undefined;
  const findRoute = hosts && createRouting(hosts, clock);

  return (parsed) => {
    const { request, path, originalTarget } = parsed;
    const isRead = request.method === "GET" || request.method === "HEAD";
    const isHealthCheck = isRead && (path === "/healthz" || path === "/readyz");
    const route = findRoute?.(parsed, isHealthCheck);
    return route instanceof Promise ? route.then(reply) : reply(route);

    function reply(found: HostRoute | undefined) {
      const hostReply = hosts && replyForHost(found as HostRoute);
      // A load balancer probes by IP address, so a host that is not configured gets a health check instead of a 421.
      if (hostReply !== undefined && !(isHealthCheck && hostReply.error !== undefined))
        return { reply: hostReply };
      if (isHealthCheck) return path === "/healthz" ? HEALTHY : checkReadiness();
      const preflight = cors?.preflight(request);
      if (preflight !== undefined) return { reply: preflight };
      if (!isRead) return undefined;
      if (path === OPENAPI_PATH) return describeApi(request);
      const document = documents?.(path, request, originalTarget);
      return document === undefined ? undefined : readDocument(document);
    }
  };

  /** The OpenAPI document. It is a seventh of the code, and most processes are never asked for it. */
  async function describeApi(request: RequestHead): Promise<RequestResult> {
    const { createServedDocument } = await import("./openapi.ts");
    openApi ??= createServedDocument({ operations, plans, openapi, keyHeaders: keys?.headers });
    return { reply: await openApi(request) };
  }
}

/** The time for which a browser may cache a redirect, and therefore follow it after it has been removed. */
const REDIRECT_MAX_AGE_SECONDS = 300;

const MAX_SERVED_HOSTS = 10_000;

/**
 * Limits look-ups that take time for an address that asks for many unknown hosts, but none of a host that was found
 * before. A health check waits for none: it must not fail because the database of hosts does.
 */
function createRouting(hosts: () => HostRouter, clock: Clock) {
  const limit = createLookupLimit();
  /** The hosts that were found, the oldest first. */
  const served = new Set<string>();
  let takesTime = false;
  return ({ request, context, originalTarget }: ParsedRequest, isHealthCheck: boolean) => {
    if (takesTime && isHealthCheck) return MISDIRECTED;
    const router = hosts();
    const { address = "" } = context;
    const host = context.host ?? request.headers.get("host") ?? splitTarget(request.url).authority;
    const name = bareHost(host ?? "");
    const isKnown = () => served.has(name);
    const find = () => router.route(host, originalTarget);
    const lookUp = (found = find()) =>
      remember(name, settleWithin(MAX_STORE_CALL_MS, found, "The lookup of a host"));
    if (takesTime && !isKnown()) {
      const mayLookUp = () => isKnown() || limit.take(name, { address }, clock());
      const shared = limit.share(name, isKnown, async () => (mayLookUp() ? lookUp() : MISDIRECTED));
      return shared.then((route) => route ?? MISDIRECTED);
    }
    const route = find();
    if (!(route instanceof Promise)) return route;
    takesTime = true;
    const remembered = lookUp(route);
    if (!isHealthCheck) return remembered;
    remembered.catch(() => {});
    return MISDIRECTED;
  };

  async function remember(name: string, lookup: Promise<HostRoute>): Promise<HostRoute> {
    const result = await lookup;
    served.delete(name);
    if (result.action !== "misdirected") served.add(name);
    if (served.size > MAX_SERVED_HOSTS) served.delete(served.values().next().value ?? "");
    return result;
  }
}

/** See lib/domains/README.md#serving-and-redirects. */
function replyForHost(route: HostRoute): Reply | undefined {
  if (route.action === "serve") return undefined;
  if (route.action === "misdirected") return { error: "misdirected_request" };
  const { status, location } = route;
  const headers = {
    location,
    "cache-control": `public, max-age=${REDIRECT_MAX_AGE_SECONDS}`,
    "content-type": "text/plain; charset=utf-8",
  };
  return readReply({ status, headers, body: `Moved permanently to ${location}\n` }, "hosts()");
}

async function readDocument(
  document: Exclude<ReturnType<DocumentSource>, undefined>,
): Promise<RequestResult | undefined> {
  const reply = await settleWithin(MAX_STORE_CALL_MS, document, "documents()");
  return reply ? { reply: readReply(reply, "documents()") } : undefined;
}

/** The lifetime of a cached result of the readiness check, so that probes cost the store at most one call a second. */
const READINESS_TTL_MS = 1_000;

const READINESS_TIMEOUT_MS = 1_000;

const HEALTHY: RequestResult = { reply: { status: 200, body: '{"status":"ok"}' } };

/** `/readyz`: 200 if the store says within a second that it can serve, otherwise 503. See lib/http/README.md#health-checks. */
function createReadinessCheck(store: HandlerOptions["store"], clock: Clock): () => Promise<RequestResult> {
  let latest: Promise<RequestResult> | undefined;
  let checkedAt: Instant = 0;

  async function check(): Promise<RequestResult> {
    try {
      await settleWithin(READINESS_TIMEOUT_MS, store.check());
      return HEALTHY;
    } catch (thrown) {
      return { reply: STORE_UNAVAILABLE, thrown };
    }
  }

  return () => {
    const at = clock();
    if (latest === undefined || at < checkedAt || at >= checkedAt + READINESS_TTL_MS) {
      latest = check();
      checkedAt = at;
    }
    return latest;
  };
}
