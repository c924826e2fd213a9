/** dynalite's parser of condition expressions. It resolves names and values while it parses. */
export interface ConditionParser {
  parse(expression: string, options: { readonly context: Context }): unknown;
}

interface Context {
  readonly attrNames?: Readonly<Record<string, string>>;
  readonly attrVals?: Readonly<Record<string, object>>;
  /** The parser removes each name and value that it has seen. */
  readonly unusedAttrNames?: Record<string, unknown>;
  readonly unusedAttrVals?: Record<string, unknown>;
}

/** Functions and operators for which the parser looks at the values themselves, not only at their types. */
const DEPENDS_ON_VALUES = /\b(between|attribute_type)\b/i;

/**
 * Parses each condition once. Parsing a long condition takes dynalite several milliseconds, most of the time of a
 * test run against it, and a store sends few different conditions.
 */
export function cacheParsedConditions(parser: ConditionParser): void {
  const { parse } = parser;
  const parsed = new Map<string, { readonly result: unknown; readonly values: Context["attrVals"] }>();

  parser.parse = (expression, options) => {
    const { attrNames, attrVals = {}, unusedAttrNames = {}, unusedAttrVals = {} } = options.context;
    if (DEPENDS_ON_VALUES.test(expression)) return parse(expression, options);
    const types = Object.entries(attrVals).map(([name, value]) => [name, Object.keys(value)]);
    const key = JSON.stringify([expression, attrNames, types]);
    const known = parsed.get(key);
    if (known === undefined) {
      const result = parse(expression, options);
      // A text is an error message, which may quote a value.
      if (typeof result === "object") parsed.set(key, { result, values: attrVals });
      return result;
    }
    for (const name of expression.match(/[#:]\w+/g) ?? []) {
      delete unusedAttrNames[name];
      delete unusedAttrVals[name];
    }
    const replacements = new Map(
      Object.entries(known.values ?? {}).map(([name, value]) => [value, attrVals[name]] as const),
    );
    return replaced(known.result, replacements);
  };
}

/** A copy in which some objects are replaced by others. */
function replaced(node: unknown, replacements: ReadonlyMap<object, unknown>): unknown {
  if (typeof node !== "object" || node === null) return node;
  if (replacements.has(node)) return replacements.get(node);
  if (Array.isArray(node)) return node.map((item) => replaced(item, replacements));
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, replaced(value, replacements)]),
  );
}
