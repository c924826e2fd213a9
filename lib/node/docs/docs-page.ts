/**
 * The interactive documentation at `/docs`: Swagger UI from the optional package `swagger-ui-dist`, without any
 * external resource.
 *
 * ```ts
 * const handler = createHandler({ store, pages: docsPage() });
 * ```
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { acceptsGzip, gzipped } from "../../http/gzip.ts";
import type { HeaderFields, PageSource, Reply } from "../../http/reply.ts";
import { MISSING_HTML, PAGE_CSS, pageHtml } from "./html.ts";
import { PAGE_SCRIPT } from "./script.ts";

/** Options of `docsPage`. */
export interface DocsPageOptions {
  /** Resolves a module to its file; throws if it is not installed. @default resolution from this module */
  readonly resolve?: (specifier: string) => string;
}

/** Allows scripts, styles and requests from this origin only, and no framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SECURITY_HEADERS: HeaderFields = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** The files that are served from the package. */
const VENDOR_FILES: Readonly<Record<string, string>> = {
  "swagger-ui-bundle.js": SCRIPT,
  "swagger-ui.css": CSS,
  "favicon-32x32.png": "image/png",
};

/** Creates the page. It serves `/docs` and the files below it. */
export function docsPage({
  resolve = createRequire(import.meta.url).resolve,
}: DocsPageOptions = {}): PageSource {
  async function vendorFile(name: string): Promise<Buffer<ArrayBuffer> | undefined> {
    try {
      return await readFile(join(dirname(resolve("swagger-ui-dist/package.json")), name));
    } catch {
      return undefined;
    }
  }

  async function html(): Promise<string> {
    const manifest = await vendorFile("package.json");
    if (manifest === undefined) return MISSING_HTML;
    const { version } = JSON.parse(manifest.toString()) as { readonly version: string };
    return pageHtml(version);
  }

  return async function serve(path, request) {
    const [, root, name = "", ...rest] = path.split("/");
    if (root !== "docs" || rest.length > 0) return undefined;
    const send = (type: string, body: string | Buffer<ArrayBuffer>, fields?: HeaderFields) =>
      answer(request, type, body, fields);
    switch (name) {
      case "":
        return send(HTML, await html());
      case "page.css":
        return send(CSS, PAGE_CSS);
      case "page.js":
        return send(SCRIPT, PAGE_SCRIPT);
    }
    const type = Object.hasOwn(VENDOR_FILES, name) ? VENDOR_FILES[name] : undefined;
    const body = type === undefined ? undefined : await vendorFile(name);
    // The page requests these files with the version in the query, so the content of a URL never changes.
    if (type !== undefined && body !== undefined) return send(type, body, IMMUTABLE_CACHE);
    return undefined;
  };
}

const IMMUTABLE_CACHE: HeaderFields = { "cache-control": "public, max-age=31536000, immutable" };

function answer(
  request: Request,
  type: string,
  body: string | Buffer<ArrayBuffer>,
  fields: HeaderFields = {},
): Reply {
  const headers = { ...SECURITY_HEADERS, ...fields, "content-type": type, vary: "accept-encoding" };
  const stream = new Blob([body]).stream();
  if (!acceptsGzip(request.headers.get("accept-encoding"))) return { status: 200, headers, body: stream };
  return { status: 200, headers: { ...headers, "content-encoding": "gzip" }, body: gzipped(stream) };
}
