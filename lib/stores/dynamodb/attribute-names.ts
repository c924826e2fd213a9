const namesByExpression = new Map<string, Readonly<Record<string, string>>>();

/**
 * The names that an expression refers to, for `ExpressionAttributeNames`: `#name` is the attribute `name`. Every name
 * is written with a `#`, because many are reserved words.
 */
export function namesIn(expression: string): Readonly<Record<string, string>> {
  const known = namesByExpression.get(expression);
  if (known !== undefined) return known;
  const aliases = expression.match(/#\w+/g) ?? [];
  const names = Object.fromEntries(aliases.map((alias) => [alias, alias.slice(1)]));
  namesByExpression.set(expression, names);
  return names;
}
