/** Loaded with `--import`: allocates when the parent sends a message, and reports the size of the young generation. */
import { load } from "./tuning-load.ts";

process.once("message", async () => process.send?.(await load()));
