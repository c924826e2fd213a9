/**
 * rate-limiter-flexible over DynamoDB: one limiter per window. `dynamodb-limiter.mjs ENDPOINT CHECKS` reports the microseconds of a
 * sequential check to its parent, and its processor time in this process. The first checks create the rows.
 */
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { RateLimiterDynamo } from "rate-limiter-flexible";

const [endpoint, checks] = process.argv.slice(2);
const credentials = { accessKeyId: "test", secretAccessKey: "test" };
const storeClient = new DynamoDB({ endpoint, region: "eu-central-1", credentials });
const tableName = "limits";
await storeClient
  .createTable({
    TableName: tableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "key", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "key", KeyType: "HASH" }],
  })
  .catch(() => {});
const window = (keyPrefix, duration) =>
  new RateLimiterDynamo({
    storeClient,
    tableName,
    keyPrefix,
    points: 1e9,
    duration,
    tableCreated: true,
    ttlSet: true,
  });
const [minute, day] = [window("minute", 60), window("day", 86_400)];
const check = async () => {
  await minute.consume("shop");
  await day.consume("shop");
};

for (let warm = 0; warm < 20; warm++) await check();
process.send("warm");
await new Promise((resolve) => process.once("message", resolve));
const startedAt = performance.now();
const before = process.cpuUsage();
for (let done = 0; done < Number(checks); done++) await check();
const { user, system } = process.cpuUsage(before);
const single = ((performance.now() - startedAt) * 1000) / Number(checks);
process.send({ single, processor: (user + system) / Number(checks) });
process.disconnect();
storeClient.destroy();
