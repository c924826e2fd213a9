/**
 * Replaces control characters, so that text from outside, such as a DNS record or an argument, cannot control the
 * terminal of whoever reads it. Line feeds stay.
 */
export function escapeControls(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, "?");
}
