import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import module from "node:module";
import { dirname, join } from "node:path";
import { cachedDocument } from "../../http/compression.ts";
import { PAGE_HEADERS } from "../../http/page-headers.ts";
import type { DocumentSource, HeaderFields, Reply } from "../../http/reply.ts";

// The build replaces these calls by the content of the files.
const PAGE_SCRIPT = readFileSync(new URL("./page.js", import.meta.url), "utf8");
const PAGE_CSS = readFileSync(new URL("./page.css", import.meta.url), "utf8");

/** Options of `docsPage`. */
export interface DocsPageOptions {
  /** Resolves a module to its file; throws if it is not installed. @default from this module, then from the working directory */
  readonly resolve?: (specifier: string) => string;
}

const CSS = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

const VENDOR_FILES: Readonly<Record<string, string>> = {
  "swagger-ui-bundle.js": SCRIPT,
  "swagger-ui.css": CSS,
  "favicon-32x32.png": "image/png",
};

/** Creates the page. It leads browsers from `/` to `/docs`, and serves the files below it from memory. */
export function docsPage(options: DocsPageOptions = {}): DocumentSource {
  const { resolve = resolveInstalled } = options;
  const files = new Map<string, Promise<ReturnType<typeof cachedDocument> | undefined>>();

  async function vendorFile(name: string): Promise<Buffer<ArrayBuffer> | undefined> {
    try {
      return await readFile(join(dirname(resolve("swagger-ui-dist/package.json")), name));
    } catch {
      return undefined;
    }
  }

  async function page() {
    const manifest = await vendorFile("package.json");
    if (manifest === undefined) return toDocument("text/plain; charset=utf-8", MISSING);
    const { version } = JSON.parse(manifest.toString()) as { readonly version: string };
    return toDocument("text/html; charset=utf-8", pageHtml(version));
  }

  async function load(name: string): Promise<ReturnType<typeof cachedDocument> | undefined> {
    if (name === "") return page();
    if (name === "page.css") return toDocument(CSS, PAGE_CSS);
    if (name === "page.js") return toDocument(SCRIPT, PAGE_SCRIPT);
    const body = await vendorFile(name);
    // The page requests these files with the version in the query, so the content of a URL never changes.
    return body && toDocument(VENDOR_FILES[name] ?? "", body, IMMUTABLE_CACHE);
  }

  // Not asynchronous: most requests are for other paths, and do not wait.
  return function serve(path, request, originalTarget) {
    if (path === "/docs/") return TO_PAGE;
    if (path === "/" && request.headers.get("accept")?.includes("text/html")) return fromRoot(originalTarget);
    const [, root, name = "", ...rest] = path.split("/");
    if (root !== "docs" || rest.length > 0 || !FILES.has(name)) return undefined;
    const loaded = files.get(name) ?? load(name);
    files.set(name, loaded);
    return loaded.then((document) => document?.(request));
  };
}

export function hasDocsPage(): boolean {
  try {
    return resolveInstalled("swagger-ui-dist/package.json") !== "";
  } catch {
    return false;
  }
}

/** In a bundle this module is elsewhere, or nowhere. webpack would replace an imported `createRequire`. */
function resolveInstalled(specifier: string): string {
  const folder = process.cwd();
  const { dirname = folder }: { readonly dirname?: string } = import.meta;
  return module.createRequire(join(folder, "index.js")).resolve(specifier, { paths: [dirname, folder] });
}

/** The links of the page are relative to its path without the slash. */
const TO_PAGE: Reply = { status: 301, headers: { location: "../docs" } };

/** For a browser. Programs that request the root get a 404, which names the problem. */
function fromRoot(originalTarget = "/"): Reply {
  // Below a path, the root can be without a slash at its end, such as `/shop`.
  const name = originalTarget.replace(/\?.*/s, "").split("/").at(-1);
  return { status: 302, headers: { location: name ? `./${name}/docs` : "docs", vary: "accept" } };
}

const FILES = new Set(["", "page.css", "page.js", ...Object.keys(VENDOR_FILES)]);

const IMMUTABLE_CACHE: HeaderFields = { "cache-control": "public, max-age=31536000, immutable" };

function toDocument(type: string, content: string | Buffer<ArrayBuffer>, fields: HeaderFields = {}) {
  return cachedDocument(content, { ...PAGE_HEADERS, ...fields, "content-type": type });
}

/** The HTML of the page. Its links are relative. `version` is that of Swagger UI, in the URLs of its files. */
function pageHtml(version: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light">
    <title>Store Orders API</title>
    <link rel="icon" href="docs/favicon-32x32.png?${version}">
    <link rel="stylesheet" href="docs/swagger-ui.css?${version}">
    <link rel="stylesheet" href="docs/page.css">
    <script src="docs/swagger-ui-bundle.js?${version}" defer></script>
    <script src="docs/page.js" type="module"></script>
  </head>
  <body>
    <div id="docs"></div>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="openapi.json">/openapi.json</a>.</noscript>
  </body>
</html>
`;
}

const MISSING = `Swagger UI was not found. Run npm install swagger-ui-dist and restart the server.
If the server is a bundle, pass docsPage({ resolve: require.resolve }), or run it where the package is installed.
The OpenAPI document is at /openapi.json.
`;
