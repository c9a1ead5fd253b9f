// Passes requests for an R2 bucket from a process of the pool to the main process, which has the bucket.
import { type DebugPort, MAIN_ADDRESS } from "./debug-port.ts";

type BucketEnv = { DEBUG_PORT: DebugPort; BUCKET: string };

/** Miniflare's service of all buckets, which gets a bucket's name in its props. */
const SERVICE = "r2:bucket:entry";

export default {
  fetch(request, { DEBUG_PORT, BUCKET }) {
    const props = { MINIFLARE_NAMESPACE: BUCKET };
    return DEBUG_PORT.connect(MAIN_ADDRESS).getEntrypoint(SERVICE, undefined, props).fetch(request);
  },
} satisfies ExportedHandler<BucketEnv>;
