import type { FastifyReply, onRequestAsyncHookHandler } from "fastify";
import {
  type AccountStore,
  type Clock,
  createAnonymousCallers,
  parseKey,
  type Quota,
  secondsUntil,
} from "store-orders";
import { sendError } from "./errors.ts";

/** Checks the API key and the limits before any route. Requests without a valid key are limited by IP address. */
export function accessControl(accounts: AccountStore, clock: Clock): onRequestAsyncHookHandler {
  const anonymousCallers = createAnonymousCallers();

  return async (request, reply) => {
    const at = clock();
    const [, presented = ""] = /^bearer +(.*)$/i.exec(request.headers.authorization ?? "") ?? [];
    const key = parseKey(presented);
    const admission = key && (await accounts.admit(key, at));

    if (admission === undefined || (!admission.ok && admission.code === "invalid_api_key")) {
      const { withinLimit, quota } = anonymousCallers.count(request.ip, at);
      setLimitHeaders(reply, quota);
      if (withinLimit) return sendError(reply, "invalid_api_key");
      return sendError(reply.header("retry-after", secondsUntil(quota.resetsAt, at)), "rate_limit_exceeded");
    }

    setLimitHeaders(reply, admission.quota);
    if (!admission.ok) {
      return sendError(reply.header("retry-after", admission.retryAfterSeconds), admission.code);
    }
  };
}

function setLimitHeaders(reply: FastifyReply, { limit, remaining, resetsAt }: Quota): void {
  reply.headers({
    "x-ratelimit-limit": limit,
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": Math.ceil(resetsAt / 1000),
  });
}
