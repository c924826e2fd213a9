import type { IncomingMessage } from "node:http";
import type { RequestHead } from "../http/plain-response.ts";
import { targetOfRequest } from "./validate-request.ts";

/** The head of a request of `node:http`, without the cost of a `Request`: one object, which is its own `headers`. */
export class NodeRequestHead implements RequestHead {
  readonly #req: IncomingMessage;
  readonly method: string;

  constructor(req: IncomingMessage) {
    this.#req = req;
    this.method = req.method ?? "GET";
  }

  get url(): string {
    return urlOf(this.#req);
  }

  get headers(): this {
    return this;
  }

  /** The value of a header. */
  get(name: string): string | null {
    return findHeader(this.#req.rawHeaders, name.toLowerCase());
  }
}

/** A request as `fetch` has it, without its body: no operation takes one. */
export function toRequest(req: IncomingMessage): Request {
  const { method = "GET", rawHeaders } = req;
  const headers = new Headers();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    headers.append(`${rawHeaders[index]}`, `${rawHeaders[index + 1]}`);
  return new Request(urlOf(req), { method, headers });
}

function urlOf(req: IncomingMessage): string {
  const target = targetOfRequest(req);
  return `http://${req.headers.host || "localhost"}${target.startsWith("/") ? target : `/${target}`}`;
}

/** Node's `headers` would drop all but the first of several `Authorization` fields. `name` is in lower case. */
function findHeader(rawHeaders: readonly string[], name: string): string | null {
  let value: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] ?? "";
    if (field.length !== name.length || field.toLowerCase() !== name) continue;
    const next = rawHeaders[index + 1] ?? "";
    value = value === null ? next : `${value}, ${next}`;
  }
  return value;
}
