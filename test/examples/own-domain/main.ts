/**
 * A Pulumi program that gives its own API, which has nothing to do with orders, a custom domain. It needs the Pulumi CLI,
 * credentials of AWS and Cloudflare, and `pulumi config set` of `host` and `zoneId`.
 */
import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { CustomDomain } from "store-orders/infra";

const config = new pulumi.Config("own-domain");
const body = {
  openapi: "3.0.1",
  info: { title: "greeting", version: "1" },
  paths: { "/": { get: greeting() } },
};
const api = new aws.apigateway.RestApi("greeting", { body: JSON.stringify(body) });
const deployment = new aws.apigateway.Deployment("greeting", { restApi: api.id });
const stage = new aws.apigateway.Stage("greeting", {
  restApi: api.id,
  deployment: deployment.id,
  stageName: "live",
});

const greetings = new CustomDomain("greetings", {
  host: config.require("host"),
  dns: {
    provider: "cloudflare",
    zoneId: config.require("zoneId"),
    comment: "own-domain, managed by Pulumi",
    routing: "managed",
  },
  restApi: api.id,
  stageName: stage.stageName,
});

/** A mock integration with a fixed response. */
function greeting() {
  const methodResponses = { "200": { description: "A greeting" } };
  const responses = { default: { statusCode: "200", responseTemplates: { "application/json": '"Hello"' } } };
  const requestTemplates = { "application/json": '{"statusCode": 200}' };
  return {
    responses: methodResponses,
    "x-amazon-apigateway-integration": { type: "mock", requestTemplates, responses },
  };
}

export const host = config.require("host");
export const target = greetings.target;
export const state = greetings.state;
