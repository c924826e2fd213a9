/** What the proxy does with a request. */
export type Fault =
  /** Forwards it. */
  | "pass"
  /** Responds that the engine throttles it. */
  | "throttle"
  /** Responds that the engine has failed. */
  | "error"
  /** Responds that the caller has no permission. */
  | "deny"
  /** Responds with something that DynamoDB would never send. */
  | "garble"
  /** Closes the connection before the engine receives it. */
  | "cut"
  /** Never responds; the engine does not receive it. */
  | "hang"
  /** Forwards it, and closes the connection instead of responding. */
  | "lose"
  /** Forwards it, and closes the connection in the middle of the response. */
  | "tear"
  /** Forwards it, and never responds. */
  | "withhold"
  /** Forwards it for a page of few or no rows, which is not the last page. */
  | "shorten";

export function createFaultCounts(): Record<Fault, number> {
  return {
    ...{ pass: 0, throttle: 0, error: 0, deny: 0, garble: 0, cut: 0 },
    ...{ hang: 0, lose: 0, tear: 0, withhold: 0, shorten: 0 },
  };
}

export interface FaultResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const JSON_TYPE = "application/x-amz-json-1.0";

function errorResponse(status: number, name: string, message: string): FaultResponse {
  const body = { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message };
  return { status, contentType: JSON_TYPE, body: JSON.stringify(body) };
}

export const GARBLED: readonly FaultResponse[] = [
  { status: 200, contentType: "text/html", body: "<html><h1>Welcome</h1></html>" },
  { status: 200, contentType: JSON_TYPE, body: "" },
  { status: 200, contentType: JSON_TYPE, body: "null" },
];

const RESPONSES: Partial<Record<Fault, readonly FaultResponse[]>> = {
  throttle: [errorResponse(400, "ProvisionedThroughputExceededException", "Slow down.")],
  error: [errorResponse(500, "InternalServerError", "Something broke.")],
  deny: [errorResponse(400, "AccessDeniedException", "The caller has no permission.")],
  garble: GARBLED,
};

/** The response for a fault if the engine is not involved, otherwise `undefined`. Successive ones alternate. */
export function responseTo(fault: Fault, index: number): FaultResponse | undefined {
  const responses = RESPONSES[fault];
  return responses?.[index % responses.length];
}
