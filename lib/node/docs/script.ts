/**
 * The script of the page. The key stays in the page's memory, and requests go to this server only. The OpenAPI document
 * determines which operations can be tried and which show a badge.
 */
export const PAGE_SCRIPT = `"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColorScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyColorScheme);
applyColorScheme();

const createPlugin = (description) => ({ React }) => {
  const findOperation = (system, path, method) =>
    system.specSelectors.specJson().getIn(["paths", path, method]);

  const getBadges = (operation) => {
    const stability = operation.get("x-stability");
    const sunset = operation.get("x-sunset");
    return [
      ...(stability ? [stability] : []),
      ...(sunset ? ["deprecated, removed on " + sunset.slice(0, 10)] : []),
    ];
  };

  const h = React.createElement;
  const container = (system, name, props) => h(system.getComponent(name, true), props);

  // Operations come first.
  const Layout = (system) =>
    h("div", { className: "swagger-ui" },
      container(system, "SvgAssets"),
      container(system, "errors"),
      h("header", { className: "wrapper" }, container(system, "InfoContainer")),
      h("main", { className: "wrapper" },
        h("div", { className: "page-bar" }, h("h2", null, "Operations"), container(system, "AuthorizeBtnContainer")),
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
          // The list can be too long to display.
          allowTryItOutFor: (_original, system) => (_state, path, method) =>
            findOperation(system, path, method)?.get("x-try-it-out") !== false,
        },
      },
    },
    wrapComponents: {
      // The summary of an operation is a button, which must not contain a link.
      DeepLink: () => ({ text }) => h("span", null, text),
      // A key must not be readable over a shoulder.
      Input: (Original) => (props) =>
        h(Original, props.id === "auth-bearer-value" ? { ...props, type: "password", autoComplete: "off" } : props),
      OperationSummaryPath: (Original, system) => (props) => {
        const { path, method } = props.operationProps.toObject();
        const badges = getBadges(findOperation(system, path, method)).map((text) =>
          h("span", { className: "badge", key: text }, text),
        );
        return h(React.Fragment, null, h(Original, props), ...badges);
      },
      // The formatter would parse long integers as doubles and lose digits.
      responseBody: (Original) => (props) =>
        h(
          Original,
          /\\d{16}/.test(props.content) ? { ...props, contentType: "text/plain" } : props,
        ),
    },
  };
};

// What Swagger UI leaves out for keyboards and screen readers.
const repair = () => {
  const all = (selector) => document.querySelectorAll("#docs " + selector);
  for (const select of all("select:not([aria-label])")) {
    select.setAttribute("aria-label", select.matches(".examples-select-element") ? "Example" : "Media type");
  }
  for (const button of all(".close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of all(".auth-btn-wrapper [aria-label]")) button.removeAttribute("aria-label");
  for (const table of all("table[role=region]")) table.removeAttribute("role");
  for (const code of all("pre:not([tabindex])")) code.tabIndex = 0;
};
new MutationObserver(repair).observe(document.documentElement, { childList: true, subtree: true });

const render = (spec) =>
  SwaggerUIBundle({
    // The content security policy allows requests to this server only.
    spec: { ...spec, info: { ...spec.info, description: undefined, license: undefined }, servers: spec.servers.slice(0, 1) },
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

fetch("openapi.json").then((response) => response.json()).then(render).catch((error) => {
  document.getElementById("docs").textContent = "The OpenAPI document could not be loaded: " + error.message;
});
`;
