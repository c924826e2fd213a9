/** A body that a `Response` can have. */
export type WebBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** A long text in parts that are produced on demand, each of them ASCII. `return` ends it early. */
export type TextStream = AsyncGenerator<string, void>;

/** The body of a response. A text is cheaper to send over `node:http` than a `ReadableStream`. */
export type ResponseBody = WebBody | TextStream;

/** The same body as a `Response` can have it. */
export function toWebBody(body: ResponseBody): WebBody {
  return isTextStream(body) ? toByteStream(body) : body;
}

/** Ends a body that nobody will read. If that fails, nobody is affected. */
export function discardBody(body: ResponseBody): void {
  if (isTextStream(body)) body.return().catch(() => {});
  else if (body instanceof ReadableStream) body.cancel().catch(() => {});
}

function isTextStream(body: ResponseBody): body is TextStream {
  return typeof body === "object" && "next" in body;
}

function toByteStream(text: TextStream): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await text.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await text.return();
      },
    },
    // No part is produced before it is read.
    { highWaterMark: 0 },
  );
}
