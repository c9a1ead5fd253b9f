import type { CheckpointQuery, LoadedCheckpoint } from "../checkpoint-contract.ts";
import type { Host } from "../contract.ts";
import { toWire } from "../wire.ts";

/** Checkpoints of a page. The host returns fewer when more would not fit one message. */
const LIST_PAGE = 16;
/** Limit of an answer, of which three isolates have a copy in memory. A single state may exceed it. */
const MAX_HISTORY_CHARACTERS = 8 * 1024 * 1024;

/** Yields up to `limit` checkpoints, newest first. */
export async function* listCheckpoints(
  host: Pick<Host, "listCheckpoints">,
  query: CheckpointQuery,
  limit: number,
): AsyncGenerator<LoadedCheckpoint> {
  let { before_id } = query;
  for (let wanted = limit; wanted > 0; ) {
    const page = await host.listCheckpoints({
      ...query,
      limit: Math.min(wanted, LIST_PAGE),
      ...(before_id !== undefined && { before_id }),
    });
    if (page.length === 0) return;
    yield* page;
    wanted -= page.length;
    before_id = page.at(-1)?.checkpoint_id;
  }
}

/** Returns states as the JSON text of an array, up to the limit of an answer. Clients read the others with `before`. */
export async function historyText(states: AsyncIterable<unknown>, write = toWire): Promise<string> {
  const texts: string[] = [];
  let characters = 0;
  for await (const state of states) {
    const text = write(state);
    characters += text.length;
    if (texts.length > 0 && characters > MAX_HISTORY_CHARACTERS) break;
    texts.push(text);
  }
  return `[${texts.join()}]`;
}
