import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { ERRORS, type ErrorCode, isInvalidInput, isStoreUnavailable } from "store-orders";

/** Sends the Error body of a code with its status. */
export function sendError(reply: FastifyReply, code: ErrorCode): FastifyReply {
  const { status, message } = ERRORS[code];
  return reply.code(status).send({ code, message, status });
}

/** Responds to an error that a route or a parser has thrown. The caller sees neither its text nor its stack. */
export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (isInvalidInput(error)) {
    const { message, issues } = error;
    return reply.code(400).send({ code: "invalid_input", message, status: 400, issues });
  }
  if (isStoreUnavailable(error)) return sendError(reply.header("retry-after", 5), "store_unavailable");
  if (error.statusCode !== undefined && error.statusCode < 500) return sendError(reply, "bad_request");
  request.log.error(error);
  return sendError(reply, "internal_error");
}
