import { ERRORS, type ErrorBody } from "../errors.ts";
import { ApiError, type ApiErrorFacts } from "./client-errors.ts";

/** Makes an error of an answer that is none of success. It reads the body, which is an Error body if all is well. */
export async function readError(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const requestId = headers.get("x-request-id") ?? undefined;
  const location = headers.get("location");
  if (status < 400 && location !== null) {
    const message = `The service has moved to ${location}; give its new base address.`;
    return new ApiError({ status, code: "unexpected_answer", message, requestId });
  }
  const { code, message } = errorBodyOf(await response.text());
  return new ApiError({ status, code, message, requestId });
}

/** What stands before the service, a proxy or a gateway, may answer with anything. */
function errorBodyOf(text: string): Pick<ApiErrorFacts, "code" | "message"> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // Not JSON: nothing that could be told on.
  }
  const { code, message } = (typeof body === "object" && body !== null ? body : {}) as Partial<ErrorBody>;
  return {
    code: typeof code === "string" && Object.hasOwn(ERRORS, code) ? code : "unexpected_answer",
    message: typeof message === "string" ? message : "The answer does not come from this service.",
  };
}
