/** A body that a `Response` can have. */
export type WebBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** A long text that is produced on demand, in parts that are ASCII. It is read like a `ReadableStream` by its reader. */
export interface TextReader {
  read(): Promise<TextPart>;
  /** Ends the text early. */
  cancel(): Promise<void>;
}

/** What one call of `read` returns: texts in their order. They are not joined, because that would copy them. */
export type TextPart =
  | { readonly done: false; readonly value: readonly string[] }
  | { readonly done: true; readonly value?: undefined };

/** The body of a response. A text is cheaper to send over `node:http` than a `ReadableStream`. */
export type ResponseBody = WebBody | TextReader;

/** The same body as a `Response` can have it. */
export function toWebBody(body: ResponseBody): WebBody {
  return isTextReader(body) ? toByteStream(body) : body;
}

/** Ends a body that nobody will read. If that fails, nobody is affected. */
export function discardBody(body: ResponseBody): void {
  if (typeof body === "object" && "cancel" in body) body.cancel().catch(() => {});
}

/** True for a text. Whatever else is not in memory has a `getReader`. */
export function isTextReader(body: ResponseBody): body is TextReader {
  return typeof body === "object" && "read" in body;
}

function toByteStream(text: TextReader): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await text.read();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value.join("")));
      },
      cancel: () => text.cancel(),
    },
    // No part is produced before it is read.
    { highWaterMark: 0 },
  );
}
