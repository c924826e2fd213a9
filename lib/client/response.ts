import { abortable } from "../core/concurrency.ts";
import { ERRORS, type ErrorBody, INPUT_ERRORS } from "../http/errors.ts";
import { ApiError } from "./client-errors.ts";

export interface OpenedBody {
  /** `undefined` if the body is empty. */
  readonly firstChunk: Uint8Array | undefined;
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
}

/** Reads the first chunk of a body, so that a connection that fails before it can still be retried. */
export async function openBody(response: Response, signal: AbortSignal): Promise<OpenedBody> {
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  try {
    return { firstChunk: (await abortable(reader.read(), signal)).value, reader };
  } catch (error) {
    cancelBody(reader);
    throw error;
  }
}

/** Reads a body as text, but not more than the given number of bytes. The rest is cancelled. */
export async function readText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  const { firstChunk, reader } = await openBody(response, signal);
  const decoder = new TextDecoder();
  let text = "";
  let bytesLeft = maxBytes;
  try {
    for (let chunk = firstChunk; chunk !== undefined; ) {
      text += decoder.decode(chunk.subarray(0, bytesLeft), { stream: true });
      bytesLeft -= chunk.length;
      if (bytesLeft <= 0) break;
      chunk = (await abortable(reader.read(), signal)).value;
    }
    return text;
  } finally {
    cancelBody(reader);
  }
}

/** Closes the connection of a body. Not awaited: a source that never settles must not block the caller. */
export function cancelBody(body: ReadableStreamDefaultReader | ReadableStream | null): void {
  body?.cancel().catch(() => {});
}

const MAX_BODY_BYTES = 64 * 1024;
const MAX_TEXT_CHARS = 500;

/** Reads an unsuccessful response. A proxy may have sent it, so a code is accepted only with its own status. */
export async function readError(response: Response, signal: AbortSignal): Promise<ApiError> {
  const { status, headers } = response;
  const requestId = toPlainText(headers.get("x-request-id")) || undefined;
  const unexpected = (message: string) =>
    new ApiError({ status, code: "unexpected_response", message, requestId });
  if (isRedirect(response)) {
    cancelBody(response.body);
    const target = toPlainText(headers.get("location")) || "another address";
    return unexpected(
      `Redirects are not followed, because the API key must not be sent to another host. A proxy or the service ` +
        `redirected this request to ${target}; check the base URL.`,
    );
  }
  const { code, message, issues } = parseErrorBody(await readText(response, MAX_BODY_BYTES, signal));
  const details = (Array.isArray(issues) ? issues : [])
    .map(Object)
    .map(({ path, message }) => `${path}: ${message}`);
  const text = toPlainText([toPlainText(message), ...details].join(" "));
  if (isErrorCode(code) && CODES[code].status === status)
    return new ApiError({ status, code, message: text || CODES[code].message, requestId });
  return unexpected(
    `A proxy probably sent this response instead of the service.${text === "" ? "" : ` Its message: "${text}"`}`,
  );
}

/** In a browser, a redirect that is not followed has neither a status nor a target. */
function isRedirect({ type, status, headers }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400 && headers.has("location"));
}

function parseErrorBody(text: string): Partial<Record<keyof ErrorBody | "issues", unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

const CODES = { ...ERRORS, ...INPUT_ERRORS };

function isErrorCode(code: unknown): code is keyof typeof CODES {
  return typeof code === "string" && Object.hasOwn(CODES, code);
}

/** Removes control characters, so that a response cannot forge log lines or control a terminal. */
function toPlainText(text: unknown): string {
  return typeof text === "string"
    ? text
        .slice(0, MAX_TEXT_CHARS)
        .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
        .trim()
    : "";
}
