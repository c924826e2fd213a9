import type { FastifyReply, onRequestAsyncHookHandler } from "fastify";
import {
  type AccountStore,
  type Clock,
  createAnonymousCallers,
  ERRORS,
  type ErrorCode,
  parseKey,
  type Quota,
  secondsUntil,
} from "store-orders";

/** Decides who comes in, before any route; every answer says what is left, to a stranger by address. */
export function gate(accounts: AccountStore, clock: Clock): onRequestAsyncHookHandler {
  const strangers = createAnonymousCallers();

  return async (request, reply) => {
    const at = clock();
    const [, presented = ""] = /^bearer +(.*)$/i.exec(request.headers.authorization ?? "") ?? [];
    const key = parseKey(presented);
    const admission = key && (await accounts.admit(key, at));
    if (admission === undefined || (!admission.ok && admission.code === "invalid_api_key")) {
      const { admitted, quota } = strangers.count(request.ip, at);
      tell(reply, quota);
      if (admitted) return refuse(reply, "invalid_api_key");
      return refuse(reply.header("retry-after", secondsUntil(quota.resetsAt, at)), "rate_limit_exceeded");
    }
    tell(reply, admission.quota);
    if (admission.ok) return;
    return refuse(reply.header("retry-after", admission.retryAfterSeconds), admission.code);
  };
}

/** Answers with the Error body and the status that the table has for a code. */
export function refuse(reply: FastifyReply, code: ErrorCode): FastifyReply {
  const { status, message } = ERRORS[code];
  return reply.code(status).send({ code, message, status });
}

function tell(reply: FastifyReply, { limit, remaining, resetsAt }: Quota): void {
  reply.headers({
    "x-ratelimit-limit": limit,
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": Math.ceil(resetsAt / 1000),
  });
}
