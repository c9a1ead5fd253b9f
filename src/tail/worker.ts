import { newId } from "../shared/storage/ids.ts";
import { backoff, retry } from "../shared/work/backoff.ts";
import { toNdjson } from "./lines.ts";

const ATTEMPTS = 4;
const BASE_MS = 200;

/** Receives the events of invocations after their end, and stores the operator's lines in the region's bucket. */
export default {
  async tail(events, { ARTIFACTS }) {
    const text = toNdjson(events);
    if (text === "") return;
    const hour = new Date().toISOString().slice(0, 13).replaceAll(/[-T]/g, "/");
    const key = `logs/${hour}/${newId()}.ndjson.gz`;
    const bytes = await gzip(text);
    const options = { httpMetadata: { contentType: "application/gzip" } };
    // The platform delivers events only once, so a failed write is repeated here.
    await retry(
      () => ARTIFACTS.put(key, bytes, options),
      (_, attempt) =>
        attempt < ATTEMPTS ? backoff({ base_ms: BASE_MS }, attempt, Math.random()) : null,
    );
  },
} satisfies ExportedHandler<Pick<Env, "ARTIFACTS">>;

function gzip(text: string): Promise<ArrayBuffer> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(compressed).arrayBuffer();
}
