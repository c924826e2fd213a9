/**
 * The baseline of the list from DynamoDB: reads every page, all buckets concurrently, and discards the responses.
 * `query-all.ts ENDPOINT TABLE BUCKETS` reports the time to its parent.
 */
import { Agent, request } from "node:http";

const [endpoint = "", table = "", buckets = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const headers = {
  "content-type": "application/x-amz-json-1.0",
  "x-amz-target": "DynamoDB_20120810.Query",
  "x-amz-date": "20260101T000000Z",
  authorization:
    "AWS4-HMAC-SHA256 Credential=test/20260101/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
};
const PAGE = 500;

const startedAt = performance.now();
const sizes = await Promise.all(Array.from({ length: Number(buckets) }, (_, bucket) => readBucket(bucket)));
const bytes = sizes.reduce((sum, size) => sum + size, 0);
process.send?.({ total: performance.now() - startedAt, bytes });
agent.destroy();
process.disconnect();

async function readBucket(bucket: number): Promise<number> {
  let bytes = 0;
  for (let from: unknown; ; ) {
    const body = await query(bucket, from);
    bytes += body.length;
    // LastEvaluatedKey is before or after the items. Nothing else of the response is needed.
    const ends = body.toString("latin1", 0, 200) + body.toString("latin1", body.length - 200);
    const next = /"LastEvaluatedKey":(\{.*?\}\})/.exec(ends)?.[1];
    if (next === undefined) return bytes;
    from = JSON.parse(next);
  }
}

function query(bucket: number, from: unknown): Promise<Buffer> {
  const body = JSON.stringify({
    TableName: table,
    ConsistentRead: true,
    KeyConditionExpression: "#bucket = :bucket",
    ProjectionExpression: "#wire",
    ExpressionAttributeNames: { "#bucket": "bucket", "#wire": "wire" },
    ExpressionAttributeValues: { ":bucket": { N: `${bucket}` } },
    Limit: PAGE,
    ExclusiveStartKey: from,
  });
  return new Promise((resolve, reject) => {
    const sent = request(endpoint, { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`The engine returned ${response.statusCode}: ${body.toString()}`));
      });
    });
    sent.on("error", reject).end(body);
  });
}
