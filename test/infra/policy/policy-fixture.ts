import { violations } from "../../../infra/policy/policies.ts";

/** The inputs of a resource, by name. */
export type Inputs = Readonly<Record<string, unknown>>;

/** What is wrong with a resource. */
export const check = (type: string, inputs: Inputs) =>
  violations({ type, name: "it", inputs, protect: true }, { protect: true });

/** A policy document with one statement. */
export const document = (statement: Inputs) => ({ Version: "2012-10-17", Statement: [statement] });
export const TABLE_ARN = "arn:aws:dynamodb:eu-central-1:1:table/t";
/** A statement that is right. */
export const getItem = { Effect: "Allow", Action: "dynamodb:GetItem", Resource: TABLE_ARN };
