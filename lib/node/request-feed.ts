import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createSlicer } from "./request-slices.ts";
import { readWithSharedBuffer } from "./shared-read-buffer.ts";
import { queueWork } from "./work-queue.ts";

/** Passes the input of a connection to Node's parser, one request at a time. */
export interface RequestFeed {
  /** Stops parsing once `req` has been received completely, until `res` has been sent. */
  begin(req: IncomingMessage, res: ServerResponse): void;
  /** The response to the request in progress, from the end of its head until it has been sent. */
  current(): ServerResponse | undefined;
  /** True if more input has been received than the current request. */
  hasMore(): boolean;
  /** The length of the request line so far. `slice` is the input that is being parsed. */
  requestLineBytes(slice: Buffer): number;
  /** Discards all further input. */
  stop(): void;
}

/**
 * How many connections of a server can hold input that is not parsed yet, up to 8 KiB each. Above it, the connection
 * that has held its input longest is closed.
 */
const MAX_HOLDING_CONNECTIONS = 1_024;

/** Slices that are parsed in one turn of the event loop, so that no input delays other connections. */
const MAX_SLICES_PER_TURN = 32;

/** The most empty lines before a request, in bytes. */
const MAX_EMPTY_BYTES = 16;
const [CR, LF] = [0x0d, 0x0a];

/**
 * Reads a socket in place of Node, which would parse all requests of a chunk of 64 KiB at once: up to 3,600, of several
 * kilobytes each, which wait for their responses. Here the input is parsed in slices that end where a request can end,
 * and held while a request is in progress. `holding` is shared by the connections of a server.
 */
export function feedRequests(socket: Socket, holding: Set<Socket>): RequestFeed {
  /** Released once it has been sent: what waiting connections hold would become garbage of the old generation. */
  let current: ServerResponse<IncomingMessage> | undefined;
  let held: Buffer | undefined;
  /** Where the rest of `held` begins: a subarray for each request would become garbage in the same way. */
  let heldStart = 0;
  let isStopped = false;
  /** True while the head of the next request has been parsed in part. */
  let isHeadStarted = false;
  /** The empty lines before the next request, in bytes. */
  let emptyBytes = 0;
  const slicer = createSlicer();

  // Node resumes the socket after each request.
  const pause = () => void socket.pause();

  const parse = readWithSharedBuffer(socket, (input) => {
    if (held === undefined) {
      const rest = feed(input, 0);
      if (rest < input.length) hold(Buffer.from(input.subarray(rest)), 0);
    } else {
      // Input that was already on its way when the socket was paused.
      held = Buffer.concat([held.subarray(heldStart), input]);
      heldStart = 0;
    }
  });
  socket.once("close", stop);

  /** Parses the input from an index on. Returns where the part begins that has to wait, which is the end if none has to. */
  function feed(input: Buffer, from: number): number {
    let start = from;
    let slices = 0;
    while (start < input.length && canParse() && slices++ < MAX_SLICES_PER_TURN) {
      if (isBetweenRequests()) {
        start = skipEmptyLines(input, start);
        if (start === input.length || isStopped) break;
        isHeadStarted = true;
      }
      const end = slicer.findEnd(input, start);
      parse(start === 0 && end === input.length ? input : input.subarray(start, end));
      start = end;
    }
    // Nothing after the last request of a connection is executed.
    if (isInProgress() && current?.shouldKeepAlive === false) stop();
    return isStopped ? input.length : start;
  }

  function isBetweenRequests(): boolean {
    return !isHeadStarted && current?.req.complete !== false;
  }

  /**
   * Skips the empty lines before a request (RFC 9112, section 2.2). Node's parser would skip any number of them, and no
   * timeout would apply: a client could occupy a connection with them.
   */
  function skipEmptyLines(input: Buffer, start: number): number {
    let end = start;
    while (input[end] === CR || input[end] === LF) end++;
    emptyBytes += end - start;
    if (emptyBytes > MAX_EMPTY_BYTES) {
      stop();
      socket.destroy();
    }
    return end;
  }

  function canParse(): boolean {
    return !isStopped && !isInProgress();
  }

  /** True if the current request has been received, and its response has not been sent. */
  function isInProgress(): boolean {
    return current?.req.complete === true;
  }

  function hold(input: Buffer, start: number): void {
    held = input;
    heldStart = start;
    if (!holding.has(socket)) {
      holding.add(socket);
      socket.on("resume", pause).pause();
    }
    if (holding.size > MAX_HOLDING_CONNECTIONS) holding.values().next().value?.destroy();
    if (!isInProgress()) queueWork(release);
  }

  /** Called when a response has been sent, or its connection closed. Other connections have their turn first. */
  function end(res: ServerResponse): void {
    if (current === res) current = undefined;
    if (held !== undefined) queueWork(release);
  }

  function release(): void {
    const input = held;
    held = undefined;
    if (input !== undefined) {
      const rest = feed(input, heldStart);
      if (rest < input.length) hold(input, rest);
    }
    if (held === undefined) stopHolding();
  }

  function stopHolding(): void {
    held = undefined;
    if (holding.delete(socket)) socket.off("resume", pause).resume();
  }

  function stop(): void {
    isStopped = true;
    stopHolding();
  }

  return {
    begin(req, res) {
      current = res;
      res.once("close", () => end(res));
      isHeadStarted = false;
      emptyBytes = 0;
      slicer.beginBody(Number(req.headers["content-length"] ?? 0));
    },
    requestLineBytes: (slice) => (current?.req.complete === false ? 0 : slicer.requestLineBytes(slice)),
    current: () => current,
    hasMore: () => held !== undefined,
    stop,
  };
}
