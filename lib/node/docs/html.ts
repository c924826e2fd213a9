/**
 * The HTML of the page. Its links are relative, because the service may be mounted below a path. `version` is the
 * version of Swagger UI, part of the URLs of its files.
 */
export function pageHtml(version: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Store Orders API</title>
    <link rel="icon" href="docs/favicon-32x32.png?${version}">
    <link rel="stylesheet" href="docs/swagger-ui.css?${version}">
    <link rel="stylesheet" href="docs/page.css">
    <script src="docs/swagger-ui-bundle.js?${version}" defer></script>
    <script src="docs/page.js" defer></script>
  </head>
  <body>
    <div id="docs"></div>
    <noscript>This page requires JavaScript. The OpenAPI document is at <a href="openapi.json">/openapi.json</a>.</noscript>
  </body>
</html>
`;
}

/** The page to serve if Swagger UI is not installed. */
export const MISSING_HTML = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Store Orders API</title><link rel="stylesheet" href="docs/page.css"></head>
  <body>
    <main>
      <p>Swagger UI is not installed. Run <code>npm install swagger-ui-dist</code> and restart the server.</p>
      <p>The OpenAPI document is at <a href="openapi.json">/openapi.json</a>.</p>
    </main>
  </body>
</html>
`;
