import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ErrorCode } from "../errors.ts";
import { type BodyResult, discardBody, hasBody } from "./request-body.ts";

/**
 * The state of one connection. Its requests are executed one after another, each once it has been received completely:
 * a request with a malformed body has no effect, and a pipelined list sees the cancel before it.
 */
export interface Connection {
  /** Resolves when all earlier requests have been answered; to false if the connection has closed meanwhile. */
  waitForTurn(res: ServerResponse): Promise<boolean>;
  /** Resolves when the rest of a request has been received, or will not be. */
  receiveBody(req: IncomingMessage): Promise<BodyResult>;
  /**
   * Records an error of the parser. Resolves, when all earlier requests have been answered, to true if the caller is to
   * send the error. It is false if `receiveBody` reports the error for the current request, or if the connection is no
   * longer writable.
   */
  onParserError(code: ErrorCode): Promise<boolean>;
  /** True if no other request has been received after this one. */
  isLast(res: ServerResponse): boolean;
  /** True while a request is in progress. */
  isBusy(): boolean;
}

/** Tracks the requests on a connection. While a request waits for its turn, the socket is not read. */
export function trackConnection(socket: Socket): Connection {
  let last: ServerResponse | undefined;
  let waiting = 0;
  let parserError: ErrorCode | undefined;
  let endBody: (result: BodyResult) => void = () => {};
  const isBusy = () => last !== undefined && !last.destroyed;
  // Node resumes the socket after each request.
  const pause = () => void socket.pause();

  return {
    isBusy,
    isLast: (res) => res === last,

    async waitForTurn(res) {
      const previous = last;
      last = res;
      if (previous !== undefined && !previous.destroyed) {
        if (waiting++ === 0) socket.on("resume", pause).pause();
        await closed(previous);
        if (--waiting === 0) socket.off("resume", pause).resume();
      }
      return !socket.destroyed;
    },

    receiveBody: async (req) => {
      if (!hasBody(req)) return "complete";
      if (parserError !== undefined && !req.complete) return { error: parserError };
      return new Promise((resolve) => {
        endBody = resolve;
        void discardBody(req).then(resolve);
      });
    },

    async onParserError(code) {
      if (parserError !== undefined) return false;
      parserError = code;
      if (isBusy() && last?.req.complete === false) {
        endBody({ error: code });
        return false;
      }
      if (last !== undefined && isBusy()) await closed(last);
      return socket.writable;
    },
  };
}

function closed(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => res.once("close", () => resolve()));
}
