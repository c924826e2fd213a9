import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { readWithSharedBuffer } from "./shared-read-buffer.ts";
import { queueWork } from "./work-queue.ts";

/** Passes the input of a connection to Node's parser, one request at a time. */
export interface RequestFeed {
  /** Stops parsing once `req` has been received completely, until `res` has been sent. */
  begin(req: IncomingMessage, res: ServerResponse): void;
  /** True if more input has been received than the current request. */
  hasMore(): boolean;
  /** The length of the request line so far. `slice` is the input that is being parsed. */
  requestLineBytes(slice: Buffer): number;
  /** Discards all further input. */
  stop(): void;
}

/**
 * How many connections of a server can hold input that is not parsed yet, up to 16 KiB each. Above it, the connection
 * that has held its input longest is closed.
 */
const MAX_HOLDING_CONNECTIONS = 1_024;

/** Slices that are parsed in one turn of the event loop, so that no input delays other connections. */
const MAX_SLICES_PER_TURN = 32;

/** The most empty lines before a request, in bytes. */
const MAX_EMPTY_BYTES = 16;
const [CR, LF] = [0x0d, 0x0a];

/** Ends every head and every chunked body. */
const END = Buffer.from("\r\n\r\n");

/**
 * Reads a socket in place of Node, which would parse all requests of a chunk of 64 KiB at once: up to 3,600, of several
 * kilobytes each, which wait for their responses. Here the input is parsed in slices that end where a request can end,
 * and held while a request is in progress. `holding` is shared by the connections of a server.
 */
export function feedRequests(socket: Socket, holding: Set<Socket>): RequestFeed {
  let current: { readonly req: IncomingMessage; readonly res: ServerResponse } | undefined;
  let held: Buffer | undefined;
  let isStopped = false;
  /** True while the head of the next request has been parsed in part. */
  let isHeadStarted = false;
  /** The empty lines before the next request, in bytes. */
  let emptyBytes = 0;
  /** The remaining bytes of a body with a Content-Length. */
  let bodyBytes = 0;
  /** The end of the input so far, if it can be the beginning of `END`. */
  let tail = "";

  /** What has been parsed of a request line. */
  let lineBytes = 0;
  let isLineComplete = false;
  let isMeasured = false;

  // Node resumes the socket after each request.
  const pause = () => void socket.pause();

  const parse = readWithSharedBuffer(socket, (input) => {
    if (held === undefined) feed(input, false);
    // Input that was already on its way when the socket was paused.
    else held = Buffer.concat([held, input]);
  });
  socket.once("close", stop);

  function feed(input: Buffer, isCopy: boolean): void {
    let start = 0;
    let slices = 0;
    while (start < input.length && canParse() && slices++ < MAX_SLICES_PER_TURN) {
      if (isBetweenRequests()) {
        start = skipEmptyLines(input, start);
        if (start === input.length || isStopped) break;
        isHeadStarted = true;
      }
      const end = findSliceEnd(input, start);
      parse(start === 0 && end === input.length ? input : input.subarray(start, end));
      start = end;
    }
    // Nothing after the last request of a connection is executed.
    if (isInProgress() && current?.res.shouldKeepAlive === false) stop();
    if (start < input.length && !isStopped) {
      const rest = input.subarray(start);
      hold(isCopy ? rest : Buffer.from(rest));
    }
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
    return current?.req.complete === true && !current.res.destroyed;
  }

  function findSliceEnd(input: Buffer, start: number): number {
    if (bodyBytes > 0) {
      const size = Math.min(bodyBytes, input.length - start);
      bodyBytes -= size;
      return start + size;
    }
    const split = tail === "" ? -1 : (tail + input.toString("latin1", start, start + 3)).indexOf("\r\n\r\n");
    const found = split === -1 ? input.indexOf(END, start) : start + split - tail.length;
    if (split !== -1 || found !== -1) {
      tail = "";
      isMeasured = false;
      return found + END.length;
    }
    measureLine(input.subarray(start));
    isMeasured = true;
    tail = (tail + input.toString("latin1", Math.max(start, input.length - 3))).slice(-3);
    return input.length;
  }

  function measureLine(slice: Buffer): void {
    if (isLineComplete) return;
    const end = slice.indexOf("\n");
    isLineComplete = end !== -1;
    lineBytes += isLineComplete ? end : slice.length;
  }

  function hold(input: Buffer): void {
    held = input;
    if (!holding.has(socket)) {
      holding.add(socket);
      socket.on("resume", pause).pause();
    }
    if (holding.size > MAX_HOLDING_CONNECTIONS) holding.values().next().value?.destroy();
    // Other connections have their turn before the next request.
    if (isInProgress()) current?.res.once("close", () => queueWork(release));
    else queueWork(release);
  }

  function release(): void {
    const input = held;
    held = undefined;
    if (input !== undefined) feed(input, true);
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
      current = { req, res };
      isHeadStarted = false;
      emptyBytes = 0;
      lineBytes = 0;
      isLineComplete = false;
      bodyBytes = Number(req.headers["content-length"] ?? 0);
    },
    requestLineBytes(slice) {
      if (current?.req.complete === false) return 0;
      if (!isMeasured) measureLine(slice);
      return lineBytes;
    },
    hasMore: () => held !== undefined,
    stop,
  };
}
