/**
 * The script of the page. The key stays in the page's memory, and requests go to this server only. The OpenAPI document
 * determines which operations can be tried and which show a badge.
 */

/**
 * The parts that the page uses of Swagger UI, which has no types. A node is anything that React renders.
 *
 * @typedef {Readonly<Record<string, unknown>>} Props
 * @typedef {(props: Props) => unknown} Component
 * @typedef {{
 *   get(name: string): unknown,
 *   getIn(path: readonly string[]): Fields | undefined,
 *   hasIn(path: readonly string[]): boolean,
 *   setIn(path: readonly string[], value: string): Fields,
 * }} Fields
 * @typedef {{ getComponent(name: string, isContainer: true): Component, specSelectors: { specJson(): Fields } }} System
 * @typedef {{ createElement(type: unknown, props: Props | null, ...children: unknown[]): unknown, Fragment: unknown }} React
 * @typedef {{ info: { title: string, description: string }, servers: readonly object[] }} Spec
 */

/** @type {{ (config: object): void, presets: { apis: unknown } }} */
const SwaggerUIBundle = Reflect.get(window, "SwaggerUIBundle");

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColorScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyColorScheme);
applyColorScheme();

const AUTHORIZATION = ["headers", "Authorization"];

/** @param {string} description */
function createPlugin(description) {
  /** @param {{ React: React }} system */
  return ({ React }) => {
    const h = React.createElement;
    /** @type {(system: System, name: string, props?: Props) => unknown} */
    const container = (system, name, props = {}) => h(system.getComponent(name, true), props);
    /** @type {(system: System, path: string, method: string) => Fields | undefined} */
    const findOperation = (system, path, method) =>
      system.specSelectors.specJson().getIn(["paths", path, method]);

    /**
     * The command for a call that was executed is made to be shown and copied: with a placeholder instead of the key.
     * @type {(original: Component) => Component}
     */
    const hideKey = (original) => (props) => {
      const { request } = /** @type {{ request: Fields }} */ (props);
      const shown = request.hasIn(AUTHORIZATION) ? request.setIn(AUTHORIZATION, "Bearer <API_KEY>") : request;
      return h(original, { ...props, request: shown });
    };

    /** Operations come first. @type {(system: System) => unknown} */
    const Layout = (system) =>
      h(
        "div",
        { className: "swagger-ui" },
        container(system, "SvgAssets"),
        container(system, "errors"),
        h("header", { className: "wrapper" }, container(system, "InfoContainer")),
        h(
          "main",
          { className: "wrapper" },
          h(
            "div",
            { className: "page-bar" },
            h("h2", null, "Operations"),
            container(system, "AuthorizeBtnContainer"),
          ),
          container(system, "operations"),
          container(system, "Models"),
          h("div", { className: "page-text" }, container(system, "Markdown", { source: description })),
        ),
      );

    return {
      components: { Layout },
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
                findOperation(system, path, method)?.get("x-try-it-out") !== false;
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
        /** @type {(original: Component, system: System) => Component} */
        OperationSummaryPath: (original, system) => (props) => {
          const { operationProps } =
            /** @type {{ operationProps: { toObject(): { path: string, method: string } } }} */ (props);
          const { path, method } = operationProps.toObject();
          const badges = badgesOf(findOperation(system, path, method)).map((text) =>
            h("span", { className: "badge", key: text }, text),
          );
          return h(React.Fragment, null, h(original, props), ...badges);
        },
        /** The formatter would parse long integers as doubles and lose digits. @type {(original: Component) => Component} */
        responseBody: (original) => (props) =>
          h(original, /\d{16}/.test(`${props["content"]}`) ? { ...props, contentType: "text/plain" } : props),
      },
    };
  };
}

/**
 * @param {Fields | undefined} operation
 * @returns {string[]}
 */
function badgesOf(operation) {
  const stability = operation?.get("x-stability");
  const sunset = operation?.get("x-sunset");
  return [
    ...(stability ? [`${stability}`] : []),
    ...(sunset ? [`deprecated, removed on ${`${sunset}`.slice(0, 10)}`] : []),
  ];
}

/** Adds the parts for keyboards and screen readers that Swagger UI leaves out. */
function repair() {
  /** @type {(selector: string) => Iterable<HTMLElement>} */
  const all = (selector) => document.querySelectorAll(`#docs ${selector}`);
  for (const select of all("select:not([aria-label])")) {
    select.setAttribute("aria-label", select.matches(".examples-select-element") ? "Example" : "Media type");
  }
  for (const button of all(".close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of all(".auth-btn-wrapper [aria-label]")) button.removeAttribute("aria-label");
  for (const table of all("table[role=region]")) table.removeAttribute("role");
  for (const code of all("pre:not([tabindex])")) code.tabIndex = 0;
}
new MutationObserver(repair).observe(document.documentElement, { childList: true, subtree: true });

/** @param {Spec} spec */
function render(spec) {
  document.title = `${spec.info.title} API`;
  SwaggerUIBundle({
    // The content security policy allows requests to this server only.
    spec: {
      ...spec,
      info: { ...spec.info, description: undefined, license: undefined },
      servers: spec.servers.slice(0, 1),
    },
    dom_id: "#docs",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [createPlugin(spec.info.description)],
    layout: "Layout",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    queryConfigEnabled: false,
    validatorUrl: null,
  });
}

try {
  render(await (await fetch("openapi.json")).json());
} catch (error) {
  const { message } = /** @type {Error} */ (error);
  document.body.append(`The OpenAPI document could not be loaded: ${message}`);
}
