import { ERRORS, type ErrorBody } from "../errors.ts";
import { ApiError, type ApiErrorDetails } from "./client-errors.ts";

/** Reads an error response, including its body. */
export async function readError(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const requestId = headers.get("x-request-id") ?? undefined;
  const location = headers.get("location");
  if (status < 400 && location !== null) {
    const message = `The service redirects to ${location}. Redirects are not followed; check the base URL.`;
    return new ApiError({ status, code: "unexpected_response", message, requestId });
  }
  const { code, message } = parseErrorBody(await response.text());
  return new ApiError({ status, code, message, requestId });
}

/** The body can be anything: it may have been sent by a proxy or a gateway in front of the service. */
function parseErrorBody(text: string): Pick<ApiErrorDetails, "code" | "message"> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON: treated like a body without a code.
  }
  const { code, message } = (typeof body === "object" && body !== null ? body : {}) as Partial<ErrorBody>;
  return {
    code: typeof code === "string" && Object.hasOwn(ERRORS, code) ? code : "unexpected_response",
    message: typeof message === "string" ? message : "Unexpected response; it was probably sent by a proxy.",
  };
}
