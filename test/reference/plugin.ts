/** A plugin of TypeDoc: what its default theme lacks for this project's documents and for screen readers. */
interface Document {
  name: string;
  readonly content: readonly { readonly text: string }[];
  readonly frontmatter: Record<string, string>;
}

interface Page {
  contents: string;
}

interface Application {
  readonly converter: {
    on(event: "createDocument", listener: (context: undefined, document: Document) => void): void;
  };
  readonly renderer: { on(event: "endPage", listener: (page: Page) => void): void };
  readonly files: { registerReflectionPath(path: string, document: Document): void };
}

/** Called by TypeDoc. */
export function load({ converter, renderer, files }: Application): void {
  // The name of a document is its heading. Links to a folder lead to the page of its files.
  converter.on("createDocument", (_context, document) => {
    document.name = /^# (.+)$/m.exec(document.content[0]?.text ?? "")?.[1] ?? document.name;
    const { folder } = document.frontmatter;
    if (folder !== undefined) files.registerReflectionPath(folder, document);
    delete document.frontmatter["folder"];
  });
  renderer.on("endPage", (page) => {
    page.contents = withoutSkippedLevels(page.contents)
      // The README has a heading of its own.
      .replace(/<div class="tsd-page-title">\s*<h1>Store Orders<\/h1><\/div>(?=\s*<div[^>]*>\s*<h1)/, "")
      .replace('<div class="col-content">', '<div class="col-content" role="main">')
      .replace('<div class="col-sidebar">', '<div class="col-sidebar" role="region" aria-label="Contents">')
      .replaceAll(/<th([^>]*)><\/th>/g, "<td$1></td>")
      .replaceAll("<table>", '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>')
      .replaceAll("</table>", "</table></div>")
      // A control within a control.
      .replaceAll(
        /(<summary[^>]*>(?:(?!<\/summary>).)*?)<a\b[^>]*>(?:(?!<\/a>).)*<\/a>(<\/h2><\/summary>)/gs,
        "$1$2",
      );
  });
}

/** The headings of a page, each at most one level below the one before. */
function withoutSkippedLevels(html: string): string {
  let level = 0;
  return html.replaceAll(/<h([1-6])\b/g, (tag, own: string) => {
    level = Math.min(Number(own), level + 1);
    return level === Number(own) ? tag : `${tag} aria-level="${level}"`;
  });
}
