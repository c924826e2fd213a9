/**
 * The script of the page. The key stays in the page's memory, and requests go to this server only. The OpenAPI document
 * determines which operations can be tried.
 */

/**
 * The parts that the page uses of Swagger UI, which has no types.
 *
 * @typedef {Readonly<Record<string, unknown>>} Props
 * @typedef {(props: Props) => unknown} Component
 * @typedef {{
 *   get(name: string): unknown,
 *   getIn(path: readonly string[]): Fields | undefined,
 *   hasIn(path: readonly string[]): boolean,
 *   setIn(path: readonly string[], value: string): Fields,
 * }} Fields
 * @typedef {{ specSelectors: { specJson(): Fields } }} System
 * @typedef {{ createElement(type: unknown, props: Props | null, ...children: unknown[]): unknown }} React
 */

/** @type {{ (config: object): void, presets: { apis: unknown } }} */
const SwaggerUIBundle = Reflect.get(window, "SwaggerUIBundle");

const AUTHORIZATION = ["headers", "Authorization"];

/** @param {{ React: React }} system */
function plugin({ React }) {
  const h = React.createElement;

  /**
   * The command for a call that was executed is made to be shown and copied: with a placeholder instead of the key.
   * @type {(original: Component) => Component}
   */
  const hideKey = (original) => (props) => {
    const { request } = /** @type {{ request: Fields }} */ (props);
    const shown = request.hasIn(AUTHORIZATION) ? request.setIn(AUTHORIZATION, "Bearer <API_KEY>") : request;
    return h(original, { ...props, request: shown });
  };

  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          /**
           * The list can be too long to display.
           * @param {unknown} _original
           * @param {System} system
           */
          allowTryItOutFor(_original, system) {
            /** @type {(state: unknown, path: string, method: string) => boolean} */
            return (_state, path, method) =>
              system.specSelectors.specJson().getIn(["paths", path, method])?.get("x-try-it-out") !== false;
          },
        },
      },
    },
    wrapComponents: {
      /** The summary of an operation is a button, which must not contain a link. @returns {Component} */
      DeepLink:
        () =>
        ({ text }) =>
          h("span", null, text),
      /** A key must not be readable over a shoulder. @type {(original: Component) => Component} */
      Input: (original) => (props) =>
        h(
          original,
          props["id"] === "auth-bearer-value" ? { ...props, type: "password", autoComplete: "off" } : props,
        ),
      curl: hideKey,
      RequestSnippets: hideKey,
      /** The formatter would parse long integers as doubles and lose digits. @type {(original: Component) => Component} */
      responseBody: (original) => (props) =>
        h(original, /\d{16}/.test(`${props["content"]}`) ? { ...props, contentType: "text/plain" } : props),
    },
  };
}

/** Adds the parts for keyboards and screen readers that Swagger UI leaves out. */
function repair() {
  /** @type {(selector: string) => Iterable<HTMLElement>} */
  const all = (selector) => document.querySelectorAll(`#docs ${selector}`);
  for (const select of all("select:not([aria-label])"))
    select.setAttribute("aria-label", select.matches(".examples-select-element") ? "Example" : "Media type");
  for (const button of all(".close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of all(".auth-btn-wrapper [aria-label]")) button.removeAttribute("aria-label");
  for (const text of all(".information-container:not([role])")) text.role = "banner";
  for (const bar of all(".scheme-container:not([role])"))
    Object.assign(bar, { role: "region", ariaLabel: "Key" });
  for (const table of all("table[role=region]")) table.removeAttribute("role");
  for (const code of all("pre:not([tabindex])")) code.tabIndex = 0;
}
new MutationObserver(repair).observe(document.documentElement, { childList: true, subtree: true });

try {
  const spec = await (await fetch("openapi.json")).json();
  SwaggerUIBundle({
    // The content security policy allows requests to this server only.
    spec: { ...spec, servers: spec.servers.slice(0, 1) },
    dom_id: "#docs",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [plugin],
    layout: "BaseLayout",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    validatorUrl: null,
  });
} catch (error) {
  const { message } = /** @type {Error} */ (error);
  document.body.append(`The OpenAPI document could not be loaded: ${message}`);
}
