import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createTurnQueue } from "../core/time.ts";
import type { ErrorCode } from "../http/errors.ts";
import { receiveBody } from "./request.ts";

/** The most input of a server's connections that waits to be parsed, in bytes. */
export const MAX_HELD_BYTES = 8 * 1024 * 1024;

/** Slices that are parsed in one turn of the event loop, so that no input delays other connections. */
const MAX_SLICES_PER_TURN = 32;

/** A turn for pipelined requests and for parts of long documents: other connections do not wait for them. */
export const backgroundTurn = createTurnQueue(16);

const MAX_EMPTY_BYTES = 16;

const [CR, LF] = [0x0d, 0x0a];

export interface HeldInput {
  bytes: number;
  readonly connections: Set<Connection>;
}

/**
 * Executes the requests of one connection one after another, each once it has been received completely. It takes the
 * place of Node's `data` listener, the parser, which would parse all requests of a chunk at once: 420 chunks of 2,300
 * then take 630 MiB and one turn of the event loop. The input is parsed in slices that end where a request can end.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #heldInput: HeldInput;
  readonly #parse: (bytes: Buffer) => void;
  readonly #slicer = new Slicer();
  /** The response to the request in progress, from the end of its head until it has been sent. */
  #current: ServerResponse | undefined;
  #held: Buffer | undefined;
  /** The start of the rest of `#held`: a subarray for each request would become garbage of the old generation. */
  #heldStart = 0;
  #isStopped = false;
  /** True while the head of the next request has been parsed in part. */
  #isHeadStarted = false;
  #emptyBytes = 0;
  #parserError: ErrorCode | undefined;
  #failBody: (error: ErrorCode) => void = () => {};

  constructor(socket: Socket, heldInput: HeldInput) {
    this.#socket = socket;
    this.#heldInput = heldInput;
    // The parser is the listener of a socket that Node has accepted. Other runtimes have none, and parse themselves.
    const [parse] = socket.listeners("data");
    this.#parse = (bytes) => parse?.call(socket, bytes);
    if (parse !== undefined) {
      socket.off("data", parse as () => void).on("data", (input: Buffer) => this.#receive(input));
      // Node resumes the socket after each request.
      socket.on("resume", () => void (this.#held !== undefined && socket.pause()));
    }
    socket.once("close", () => this.stop());
  }

  /** Registers the request whose head has been received. No other is parsed until its response has been sent. */
  begin(req: IncomingMessage, res: ServerResponse): void {
    this.#current = res;
    // Other connections have their turn first.
    res.once("close", () => {
      if (this.#current === res) this.#current = undefined;
      if (this.#held !== undefined) this.#releaseLater();
    });
    this.#isHeadStarted = false;
    this.#emptyBytes = 0;
    this.#slicer.bodyBytes = Number(req.headers["content-length"] ?? 0);
  }

  /** Resolves when the body of the request has been received, or will not be. */
  receiveBody(req: IncomingMessage): ReturnType<typeof receiveBody> {
    if (this.#parserError !== undefined && !req.complete) return Promise.resolve(this.#parserError);
    return new Promise((resolve) => {
      this.#failBody = resolve;
      void receiveBody(req).then(resolve);
    });
  }

  /** The body of the request, asked for and received as it is read. What is invalid or late is thrown, with its code. */
  async *readBody(req: IncomingMessage, isExpected: boolean): AsyncGenerator<Uint8Array> {
    if (isExpected) this.#current?.writeContinue();
    const { promise: failed, reject } = Promise.withResolvers<never>();
    this.#failBody = (code) => reject(Object.assign(new Error("The body cannot be received."), { code }));
    if (this.#parserError !== undefined && !req.complete) this.#failBody(this.#parserError);
    // Not a loop over the request: one that ends early takes its socket from it.
    const parts = req[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await Promise.race([failed, parts.next()]);
      if (done === true) return;
      yield value;
    }
  }

  /** Resolves when the current request has been answered: to true if the caller is to send the error. */
  async onParserError(code: ErrorCode): Promise<boolean> {
    this.stop();
    if (this.#parserError !== undefined) return false;
    this.#parserError = code;
    const response = this.#current;
    if (response?.req.complete === false) {
      this.#failBody(code);
      return false;
    }
    if (response !== undefined) await new Promise<void>((resolve) => response.once("close", () => resolve()));
    return this.#socket.writable;
  }

  isBusy(): boolean {
    return this.#current !== undefined;
  }

  hasMore(): boolean {
    return this.#held !== undefined;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopHolding();
  }

  #receive(input: Buffer): void {
    if (this.#held === undefined) {
      const rest = this.#feed(input, 0);
      if (rest < input.length) this.#hold(input, rest);
    } else {
      // Input that was already on its way when the socket was paused.
      this.#hold(Buffer.concat([this.#held.subarray(this.#heldStart), input]), 0);
    }
  }

  /** Parses the input from an index on. Returns the start of the part that has to wait, or the end of the input. */
  #feed(input: Buffer, from: number): number {
    let start = from;
    let slices = 0;
    while (
      start < input.length &&
      !this.#isStopped &&
      !this.#isReceived() &&
      slices++ < MAX_SLICES_PER_TURN
    ) {
      if (!this.#isHeadStarted && this.#current?.req.complete !== false) {
        start = this.#skipEmptyLines(input, start);
        if (start === input.length || this.#isStopped) break;
        this.#isHeadStarted = true;
      }
      const end = this.#slicer.findEnd(input, start);
      this.#parse(start === 0 && end === input.length ? input : input.subarray(start, end));
      start = end;
    }
    // Nothing after the last request of a connection is executed.
    if (this.#isReceived() && this.#current?.shouldKeepAlive === false) this.stop();
    return this.#isStopped ? input.length : start;
  }

  #isReceived(): boolean {
    return this.#current?.req.complete === true;
  }

  /** Skips the empty lines before a request (RFC 9112, 2.2). Node would skip any number of them, without a timeout. */
  #skipEmptyLines(input: Buffer, start: number): number {
    let end = start;
    while (input[end] === CR || input[end] === LF) end++;
    this.#emptyBytes += end - start;
    if (this.#emptyBytes > MAX_EMPTY_BYTES) this.#destroy();
    return end;
  }

  #hold(input: Buffer, start: number): void {
    const { connections } = this.#heldInput;
    this.#heldInput.bytes += input.length - this.#heldBytes;
    this.#held = input;
    this.#heldStart = start;
    connections.add(this);
    this.#socket.pause();
    while (this.#heldInput.bytes > MAX_HELD_BYTES) this.#largest().#destroy();
    if (!this.#isReceived()) this.#releaseLater();
  }

  /** The connection that holds the most: one of a flood, not one that waits for a list with a short request behind it. */
  #largest(): Connection {
    let largest: Connection = this;
    for (const each of this.#heldInput.connections) if (each.#heldBytes > largest.#heldBytes) largest = each;
    return largest;
  }

  get #heldBytes(): number {
    return this.#held?.length ?? 0;
  }

  #releaseLater(): void {
    void backgroundTurn().then(() => this.#release());
  }

  #release(): void {
    const input = this.#held;
    if (input === undefined) return;
    const rest = this.#feed(input, this.#heldStart);
    this.#heldStart = rest;
    if (rest === input.length) this.#stopHolding();
    else if (!this.#isReceived()) this.#releaseLater();
  }

  #stopHolding(): void {
    if (!this.#heldInput.connections.delete(this)) return;
    this.#heldInput.bytes -= this.#heldBytes;
    this.#held = undefined;
    this.#socket.resume();
  }

  #destroy(): void {
    this.stop();
    this.#socket.destroy();
  }
}

/** Ends every head and every chunked body. */
const END = "\r\n\r\n";

/** Finds where the input of a connection can be cut for the parser: at the latest where a request can end. */
export class Slicer {
  /** The length of the body that follows the head that has been parsed. */
  bodyBytes = 0;
  /** The end of the input so far, if it can be the beginning of `END`. */
  #tail = "";

  findEnd(input: Buffer, start: number): number {
    if (this.bodyBytes > 0) {
      const size = Math.min(this.bodyBytes, input.length - start);
      this.bodyBytes -= size;
      return start + size;
    }
    const tail = this.#tail;
    const split = tail === "" ? -1 : (tail + input.toString("latin1", start, start + 3)).indexOf(END);
    const found = split === -1 ? input.indexOf(END, start) : start + split - tail.length;
    if (split !== -1 || found !== -1) {
      this.#tail = "";
      return found + END.length;
    }
    this.#tail = (tail + input.toString("latin1", Math.max(start, input.length - 3))).slice(-3);
    return input.length;
  }
}
