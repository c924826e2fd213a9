/** Quotas of AWS as they were known in November 2026: what an account has without asking for more. */
export const QUOTAS = {
  gatewayPerSecond: 10_000,
  concurrency: 1_000,
  tableReadsPerSecond: 40_000,
  tableWritesPerSecond: 40_000,
  partitionReadsPerSecond: 3_000,
  itemWritesPerSecond: 1_000,
  streamBytes: 200e6,
  /** The gateway passes so many bytes of a stream at once, then so many a second. */
  burstBytes: 10e6,
  streamBytesPerSecond: 2e6,
} as const;
