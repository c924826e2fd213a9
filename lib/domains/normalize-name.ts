/** A DNS name in lower case, without the trailing dot. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}
