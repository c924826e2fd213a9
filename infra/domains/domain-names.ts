import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { errorMessage } from "../../lib/core/errors.ts";

/** Looks up the domain name of a host in this account and region. Mocks return it without most properties. */
export async function findDomainName(domainName: string, options: pulumi.InvokeOptions) {
  try {
    return await aws.apigateway.getDomainName({ domainName }, options);
  } catch (error) {
    if (/couldn't find|not ?found|empty result/i.test(errorMessage(error))) return undefined;
    throw new pulumi.RunError(`Cannot look up the domain name ${domainName}: ${errorMessage(error)}`);
  }
}
