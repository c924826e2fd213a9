import { ERRORS, type ErrorBody, type ErrorCode } from "../errors.ts";
import { ApiError } from "./client-errors.ts";
import { cancelBody, readText } from "./response-body.ts";

/** Far above the size of any Error body. */
const MAX_BODY_BYTES = 64 * 1024;
/** The longest text of a response that an error carries. */
const MAX_TEXT_CHARS = 500;

/**
 * Reads an unsuccessful response. A proxy may have sent it, such as the login page of a hotel network. So a code is
 * accepted only with the status that belongs to it.
 */
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
  const { code, message } = parseErrorBody(await readText(response, MAX_BODY_BYTES, signal));
  const text = toPlainText(message);
  if (isErrorCode(code) && ERRORS[code].status === status)
    return new ApiError({ status, code, message: text || ERRORS[code].message, requestId });
  return unexpected(
    `A proxy probably sent this response instead of the service.${text === "" ? "" : ` Its message: "${text}"`}`,
  );
}

/** In a browser, a redirect that is not followed has neither a status nor a target. */
function isRedirect({ type, status, headers }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400 && headers.has("location"));
}

function parseErrorBody(text: string): Partial<Record<keyof ErrorBody, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERRORS, code);
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
