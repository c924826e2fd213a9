/**
 * The floor of the list from DynamoDB: every page of every bucket is asked for, all buckets at the same time, and
 * what comes is thrown away unread. `query-all.ts ENDPOINT TABLE BUCKETS` tells its parent how long that took.
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

const began = performance.now();
const sizes = await Promise.all(Array.from({ length: Number(buckets) }, (_, bucket) => readBucket(bucket)));
const bytes = sizes.reduce((sum, size) => sum + size, 0);
process.send?.({ total: performance.now() - began, bytes });
agent.destroy();
process.disconnect();

async function readBucket(bucket: number): Promise<number> {
  let bytes = 0;
  for (let from: unknown; ; ) {
    const answer = await query(bucket, from);
    bytes += answer.length;
    // It stands before the items or behind them, and that is all that has to be known of an answer.
    const ends = answer.toString("latin1", 0, 200) + answer.toString("latin1", answer.length - 200);
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
        const answer = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`The engine answered ${response.statusCode}: ${answer.toString()}`));
      });
    });
    sent.on("error", reject).end(body);
  });
}
