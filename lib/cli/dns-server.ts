import type { DnsResolver } from "../domains/verification/resolver.ts";
import { InvalidInputError, isInvalidInput } from "../errors.ts";
import { createDnsResolver } from "../node/dns-resolver.ts";

/** Creates the resolver that `--resolver` names, otherwise that of the system. An error names the flag. */
export function createNamedResolver({ resolver }: { readonly resolver?: string | undefined }): DnsResolver {
  try {
    return createDnsResolver(resolver === undefined ? {} : { servers: [resolver] });
  } catch (error) {
    if (!isInvalidInput(error)) throw error;
    throw new InvalidInputError(error.issues.map(({ message }) => ({ path: "--resolver", message })));
  }
}
