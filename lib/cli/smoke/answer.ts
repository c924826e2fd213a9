import { errorMessage } from "../../errors.ts";

/** A response, with as much of its body as a check needs: a list can have any length. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The beginning of the body, at most `MAX_TEXT_CHARS`. */
  readonly text: string;
  readonly lastCharacter: string;
}

/** A request of the smoke test. */
export interface SmokeRequest {
  readonly method: "GET" | "DELETE";
  readonly url: string;
  /** The API key. @default none */
  readonly key?: string;
  readonly timeoutMs: number;
}

/** A response, or why there is none. */
export type SmokeResult =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly code: "no_response"; readonly message: string };

const MAX_TEXT_CHARS = 10_000;

/** Sends a request and reads the whole response. Redirects are not followed, because they would receive the key. */
export async function send({ method, url, key, timeoutMs }: SmokeRequest): Promise<SmokeResult> {
  try {
    const response = await fetch(url, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }),
    });
    return { ok: true, answer: await read(response) };
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return { ok: false, code: "no_response", message: errorMessage(cause ?? error) };
  }
}

async function read({ status, headers, body }: Response): Promise<Answer> {
  let text = "";
  let lastCharacter = "";
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (text.length < MAX_TEXT_CHARS) text += chunk;
    lastCharacter = chunk.at(-1) ?? lastCharacter;
  }
  return { status, headers, text: text.slice(0, MAX_TEXT_CHARS), lastCharacter };
}
