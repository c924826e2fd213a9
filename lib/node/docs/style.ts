/**
 * The styles of the page, in addition to those of Swagger UI. Its own colors have too little contrast (WCAG 2.2, 1.4.3:
 * 4.5 to 1 for text). Syntax is highlighted by inline styles, which can only be recognised by their text.
 */
export const PAGE_CSS = `
body { margin: 0; }
@media (prefers-reduced-motion: reduce) { .swagger-ui * { transition: none !important; } }
html.dark-mode body { background: #1c2022; }
.badge {
  border: 1px solid currentColor;
  border-radius: 4px;
  font: 600 12px sans-serif;
  margin: 2px 8px 2px 0;
  padding: 2px 6px;
}
.swagger-ui .wrapper { padding: 0 16px; }
.swagger-ui .info { margin: 24px 0 16px; }
.swagger-ui .page-bar { align-items: center; display: flex; flex-wrap: wrap; gap: 8px 16px; justify-content: space-between; }
.swagger-ui .page-bar h2 { color: inherit; font: 600 24px sans-serif; margin: 8px 0; }
.swagger-ui .page-text { margin: 32px 0; max-width: 80ch; }
.swagger-ui .page-text table { width: auto; }
.swagger-ui .page-text :is(td, th) { min-width: 0 !important; padding: 6px 8px 6px 0 !important; text-align: left; vertical-align: top; }
.swagger-ui .response-controls { flex-wrap: wrap; gap: 8px; }
.swagger-ui .response-control-media-type, .swagger-ui .response-control-examples { flex: 1 1 200px; }
.swagger-ui .response-col_links { display: none; }
.swagger-ui .info .title small { background: #5b6270; }
.swagger-ui .info .title small.version-stamp { background: #4a6700; }
.swagger-ui .btn.authorize { border-color: #14794b; color: #14794b; }
.swagger-ui .btn.authorize svg { fill: #14794b; }
.swagger-ui .btn.cancel { border-color: #b3261e; color: #b3261e; }
.swagger-ui .btn.execute { background: #1f62ad; border-color: #1f62ad; }
.swagger-ui .download-contents { background: #4a505e; }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f62ad; }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
.swagger-ui .opblock.opblock-deprecated { opacity: 1; }
.swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #666; color: #fff; }
.swagger-ui .parameter__in, .swagger-ui .prop-format { color: #555; }
.swagger-ui .response-control-media-type__accept-message,
.swagger-ui .response-control-media-type__accept-message code { color: #1a6b1a; }
.swagger-ui a { color: #1f62ad; }
.swagger-ui .microlight span[style*="rgb(211, 99, 99)"] { color: #ffb3b3 !important; }
.swagger-ui :focus-visible { outline: 2px solid #1f62ad; outline-offset: 2px; }
html.dark-mode .swagger-ui .opblock.opblock-deprecated .opblock-summary-method { background: #9a9a9a; color: #080a0b; }
html.dark-mode .swagger-ui .page-bar h2 { color: #e4e6e6; }
html.dark-mode .swagger-ui .header-col { color: inherit; }
html.dark-mode .swagger-ui .btn.authorize { border-color: #6fd8a5; color: #6fd8a5; }
html.dark-mode .swagger-ui .btn.authorize svg { fill: #6fd8a5; }
html.dark-mode .swagger-ui .btn.cancel { border-color: #ff9d97; color: #ff9d97; }
html.dark-mode .swagger-ui .parameter__in, html.dark-mode .swagger-ui .prop-format { color: #c3c7cb; }
html.dark-mode .swagger-ui .response-control-media-type__accept-message,
html.dark-mode .swagger-ui .response-control-media-type__accept-message code { color: #8fd18f; }
html.dark-mode .swagger-ui a { color: #8fbdf5; }
html.dark-mode .swagger-ui :focus-visible { outline-color: #8fbdf5; }
`;
