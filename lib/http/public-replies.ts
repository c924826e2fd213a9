import type { Clock } from "../clock.ts";
import type { Cors } from "./cors.ts";
import type { HandlerOptions, RequestContext } from "./handler-options.ts";
import { createHealthChecks } from "./health.ts";
import { createHostRouter, hostOf } from "./host-router.ts";
import { createServedDocument } from "./openapi/served-document.ts";
import type { Operation } from "./operations.ts";
import type { RequestHead } from "./plain-response.ts";
import type { DocumentSource } from "./reply.ts";
import type { Outcome } from "./response.ts";

/** A request whose target has been parsed. */
export interface ParsedRequest {
  readonly request: RequestHead;
  readonly context: RequestContext;
  /** Path and query as received. */
  readonly target: string;
  /** The path below the base path. */
  readonly path: string;
}

/**
 * Creates a function that replies to the requests that need no key and are not counted: redirects and 421, health
 * checks, CORS preflights, the OpenAPI document, and the documents beside the API. It returns `undefined` for a request
 * to the API.
 */
export function createPublicReplies(
  { store, hosts, plans, documents, servers = [], basePath = "" }: HandlerOptions,
  { operations, cors, clock }: { operations: readonly Operation[]; cors: Cors | undefined; clock: Clock },
): (parsed: ParsedRequest) => Outcome | Promise<Outcome | undefined> | undefined {
  const routeHost = createHostRouter(hosts);
  const healthChecks = createHealthChecks(store.orders, clock);
  const openApi = createServedDocument({ operations, plans }, servers);
  const publicUrl = ({ origin }: RequestContext) => origin && `${origin}${basePath}`;

  return ({ request, context, target, path }) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const healthCheck = isRead ? healthChecks.get(path) : undefined;
    const hostReply = routeHost(context.host ?? hostOf(request), target);
    // A load balancer probes by IP address, so a host that is not configured gets a health check instead of a 421.
    if (hostReply !== undefined && (healthCheck === undefined || hostReply.error === undefined))
      return { reply: hostReply };
    if (healthCheck !== undefined) return healthCheck();
    const preflight = cors?.preflight(request);
    if (preflight !== undefined) return { reply: preflight };
    if (!isRead) return undefined;
    if (path === "/openapi.json") return openApi(request, publicUrl(context)).then((reply) => ({ reply }));
    return documents && documentAt(documents, path, request);
  };
}

async function documentAt(
  documents: DocumentSource,
  path: string,
  request: RequestHead,
): Promise<Outcome | undefined> {
  const reply = await documents(path, request);
  return reply && { reply };
}
