/**
 * The script of the page. The key stays in the page's memory, and requests go to this server only. The OpenAPI document
 * determines which operations can be tried and which show a badge.
 */
export const PAGE_SCRIPT = `"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColorScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyColorScheme);
applyColorScheme();

const plugin = ({ React }) => {
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

  return {
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
      OperationSummaryPath: (Original, system) => (props) => {
        const { path, method } = props.operationProps.toObject();
        const badges = getBadges(findOperation(system, path, method)).map((text) =>
          React.createElement("span", { className: "badge", key: text }, text),
        );
        return React.createElement(React.Fragment, null, React.createElement(Original, props), ...badges);
      },
      // The formatter would parse long integers as doubles and lose digits.
      responseBody: (Original) => (props) =>
        React.createElement(
          Original,
          /\\d{16}/.test(props.content) ? { ...props, contentType: "text/plain" } : props,
        ),
    },
  };
};

const render = (spec) =>
  SwaggerUIBundle({
    // The content security policy allows requests to this server only.
    spec: { ...spec, servers: spec.servers.slice(0, 1) },
    dom_id: "#docs",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [plugin],
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
