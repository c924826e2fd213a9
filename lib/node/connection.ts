import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ErrorCode } from "../errors.ts";
import { type Arrival, dropBody, hasBody } from "./request-body.ts";

/**
 * One connection. Its requests are carried out one after another, each when it has arrived whole: what is found
 * malformed in the end was not carried out in the beginning, and a pipelined list sees the cancel before it.
 */
export interface Connection {
  /** Resolves when all that came before is answered; false where the connection has ended meanwhile. */
  waitForTurn(res: ServerResponse): Promise<boolean>;
  /** Resolves when the rest of a request is there, or will not come. */
  receiveBody(req: IncomingMessage): Promise<Arrival>;
  /**
   * The parser found a fault. Resolves, when all that came before is answered, to what is left to be answered with it:
   * false where that is a request whose arrival it ends, or where the connection takes no more answers.
   */
  onParserError(fault: ErrorCode): Promise<boolean>;
  /** True where nothing came after this one. */
  isLast(res: ServerResponse): boolean;
  /** True while a request is not answered. */
  isBusy(): boolean;
}

/** Begins a conversation on a connection. While a request waits for its turn, nothing more is read. */
export function trackConnection(socket: Socket): Connection {
  let last: ServerResponse | undefined;
  let waiting = 0;
  let broken: ErrorCode | undefined;
  let endArrival: (arrival: Arrival) => void = () => {};
  const isBusy = () => last !== undefined && !last.destroyed;
  // Node itself resumes a socket whenever it is done with a request.
  const hold = () => void socket.pause();

  return {
    isBusy,
    isLast: (res) => res === last,

    async waitForTurn(res) {
      const before = last;
      last = res;
      if (before !== undefined && !before.destroyed) {
        if (waiting++ === 0) socket.on("resume", hold).pause();
        await closed(before);
        if (--waiting === 0) socket.off("resume", hold).resume();
      }
      return !socket.destroyed;
    },

    receiveBody: async (req) => {
      if (!hasBody(req)) return "whole";
      if (broken !== undefined && !req.complete) return { fault: broken };
      return new Promise((resolve) => {
        endArrival = resolve;
        void dropBody(req).then(resolve);
      });
    },

    async onParserError(fault) {
      if (broken !== undefined) return false;
      broken = fault;
      if (isBusy() && last?.req.complete === false) {
        endArrival({ fault });
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
