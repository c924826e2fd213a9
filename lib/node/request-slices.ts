/** Finds where the input of a connection can be cut for the parser: at the latest where a request can end. */
export interface Slicer {
  /** The end of the slice that begins at `start`. */
  findEnd(input: Buffer, start: number): number;
  /** The head of a request has been parsed: a body of this length follows. */
  beginBody(bytes: number): void;
  /** The length of the request line so far. `slice` is the input that is being parsed. */
  requestLineBytes(slice: Buffer): number;
}

/** Ends every head and every chunked body. */
const END = "\r\n\r\n";
const [CR, LF] = [0x0d, 0x0a];

export function createSlicer(): Slicer {
  /** The remaining bytes of a body with a Content-Length. */
  let bodyBytes = 0;
  /** The end of the input so far, if it can be the beginning of `END`. */
  let tail = "";

  /** What has been parsed of a request line. */
  let lineBytes = 0;
  let isLineComplete = false;
  let isMeasured = false;

  function measureLine(slice: Buffer): void {
    if (isLineComplete) return;
    const end = slice.indexOf("\n");
    isLineComplete = end !== -1;
    lineBytes += isLineComplete ? end : slice.length;
  }

  return {
    findEnd(input, start) {
      if (bodyBytes > 0) {
        const size = Math.min(bodyBytes, input.length - start);
        bodyBytes -= size;
        return start + size;
      }
      const split = tail === "" ? -1 : (tail + input.toString("latin1", start, start + 3)).indexOf(END);
      const found = split === -1 ? indexOfEnd(input, start) : start + split - tail.length;
      if (split !== -1 || found !== -1) {
        tail = "";
        isMeasured = false;
        return found + END.length;
      }
      measureLine(input.subarray(start));
      isMeasured = true;
      tail = (tail + input.toString("latin1", Math.max(start, input.length - 3))).slice(-3);
      return input.length;
    },

    beginBody(bytes) {
      bodyBytes = bytes;
      lineBytes = 0;
      isLineComplete = false;
    },

    requestLineBytes(slice) {
      if (!isMeasured) measureLine(slice);
      return lineBytes;
    },
  };
}

/**
 * The index of `END`, or -1. For the length of a head, `Buffer.indexOf` takes as long if its code is in the cache of the
 * processor, and several microseconds if it is not, as after a wait for the disk.
 */
function indexOfEnd(input: Buffer, start: number): number {
  let last = start + END.length - 1;
  while (last < input.length) {
    const byte = input[last];
    if (byte === LF) {
      if (input[last - 1] === CR && input[last - 2] === LF && input[last - 3] === CR) return last - 3;
      last += 2;
    } else last += byte === CR ? 1 : END.length;
  }
  return -1;
}
