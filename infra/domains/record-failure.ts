/** A DNS record that the provider could not create. */
export interface FailedRecord {
  readonly kind: "routing" | "validation";
  readonly name: string;
  readonly content: string;
}

/**
 * Explains what to do if a record cannot be created. The usual reason is that it exists, but not in the stack's state.
 */
export function explainRecordFailure(record: FailedRecord, errors: readonly string[]): string {
  const { kind, name, content } = record;
  return [
    `Cannot create the DNS record CNAME ${name} → ${content}.`,
    "  If the record exists at Cloudflare, an interrupted update or another owner created it.",
    `  ${WAYS_OUT[kind]}`,
    "  See infra/README.md#an-interrupted-run.",
    ...errors.map((error) => `  Error from the provider: ${error}`),
  ].join("\n");
}

const WAYS_OUT = {
  routing:
    "Remove the comment of that record at Cloudflare. The next preview names its identifier; add it to 'adopt', and update again.",
  validation:
    "Delete that record at Cloudflare and update again. The stack creates the same record, which validates every certificate of this AWS account for the host.",
} as const;
