import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ErrorCode } from "../errors.ts";
import { type BodyResult, discardBody, hasBody } from "./request-body.ts";
import { feedRequests } from "./request-feed.ts";

/**
 * The state of one connection. Its requests are executed one after another, each once it has been received completely:
 * a request with a malformed body has no effect, and a pipelined list sees the cancel before it.
 */
export interface Connection {
  /** Registers the request whose head has been received. */
  begin(req: IncomingMessage, res: ServerResponse): void;
  /** Resolves when the rest of the request has been received, or will not be. */
  receiveBody(req: IncomingMessage): Promise<BodyResult>;
  /**
   * Records an error of the parser. Resolves, when the current request has been answered, to true if the caller is to
   * send the error. It is false if `receiveBody` reports the error for the current request, or if the connection is no
   * longer writable.
   */
  onParserError(code: ErrorCode): Promise<boolean>;
  /** The length of the request line so far. `slice` is the input that is being parsed. */
  requestLineBytes(slice: Buffer): number;
  /** Discards all further input. */
  stop(): void;
  /** True if more input has been received after the current request. */
  hasMore(): boolean;
  /** True while a request is in progress. */
  isBusy(): boolean;
}

/** Tracks the requests on a connection. `holding` is shared by the connections of a server. */
export function trackConnection(socket: Socket, holding: Set<Socket>): Connection {
  const { hasMore, stop, begin, current, requestLineBytes } = feedRequests(socket, holding);
  let parserError: ErrorCode | undefined;
  let endBody: (result: BodyResult) => void = () => {};
  const isBusy = () => current() !== undefined;

  return {
    begin,
    isBusy,
    hasMore,
    stop,
    requestLineBytes,

    receiveBody: async (req) => {
      if (!hasBody(req)) return "complete";
      if (parserError !== undefined && !req.complete) return { error: parserError };
      return new Promise((resolve) => {
        endBody = resolve;
        void discardBody(req).then(resolve);
      });
    },

    async onParserError(code) {
      stop();
      if (parserError !== undefined) return false;
      parserError = code;
      const response = current();
      if (response?.req.complete === false) {
        endBody({ error: code });
        return false;
      }
      if (response !== undefined) await closed(response);
      return socket.writable;
    },
  };
}

function closed(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => res.once("close", () => resolve()));
}
