/** Quotas of AWS as they were known in November 2026: what an account has without asking for more. */
export const QUOTAS = {
  gatewayPerSecond: 10_000,
  concurrency: 1_000,
  /** Of each concurrent execution. */
  requestsPerSecond: 10,
  tableReadsPerSecond: 40_000,
  partitionReadsPerSecond: 3_000,
  streamBytes: 200e6,
  /** Lambda sends so many bytes of a stream at once, then so many a second. */
  burstBytes: 6e6,
  streamBytesPerSecond: 2e6,
  /** The gateway counts a response as one request for each of these, begun or complete. */
  gatewayBytesPerRequest: 10e6,
} as const;
