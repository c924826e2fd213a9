/** The identifier of a change without its token, which is random: `<order>:<number>`. */
export function changeNumber(id: string): string {
  return id.split(":", 2).join(":");
}
