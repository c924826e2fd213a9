/**
 * What the page does in the browser. It keeps the key in the page's memory alone, sends requests to this server
 * alone, and reads from the document which operations can be tried, are leaving, or may still change.
 */
export const PAGE_SCRIPT = `"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

const plugin = ({ React }) => {
  const operationAt = (system, path, method) =>
    system.specSelectors.specJson().getIn(["paths", path, method]);

  const badgesOf = (operation) => {
    const stability = operation.get("x-stability");
    const sunset = operation.get("x-sunset");
    return [
      ...(stability ? [stability] : []),
      ...(sunset ? ["deprecated, gone from " + sunset.slice(0, 10)] : []),
    ];
  };

  return {
    statePlugins: {
      spec: {
        wrapSelectors: {
          // The list has no end that a page could show.
          allowTryItOutFor: (_original, system) => (_state, path, method) =>
            operationAt(system, path, method)?.get("x-try-it-out") !== false,
        },
      },
    },
    wrapComponents: {
      OperationSummaryPath: (Original, system) => (props) => {
        const { path, method } = props.operationProps.toObject();
        const badges = badgesOf(operationAt(system, path, method)).map((text) =>
          React.createElement("span", { className: "badge", key: text }, text),
        );
        return React.createElement(React.Fragment, null, React.createElement(Original, props), ...badges);
      },
      // Formatting would read long integers as doubles and lose their last digits.
      responseBody: (Original) => (props) =>
        React.createElement(
          Original,
          /\\d{16}/.test(props.content) ? { ...props, contentType: "text/plain" } : props,
        ),
    },
  };
};

const show = (spec) =>
  SwaggerUIBundle({
    // Another server would be another host, and the page's policy allows none.
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

fetch("/openapi.json").then((response) => response.json()).then(show).catch((error) => {
  document.getElementById("docs").textContent = "The document could not be loaded: " + error.message;
});
`;
