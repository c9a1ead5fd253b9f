import { WorkerEntrypoint } from "cloudflare:workers";
import { hasFrames, mapStacks } from "../../../shared/source-maps/stacks.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { backoff, retry } from "../../../shared/work/backoff.ts";
import { Batcher } from "../../../shared/work/batcher.ts";
import { agentLog } from "./agent-log.ts";
import { sourceMapOf } from "./source-map-service.ts";
import {
  type AgentLine,
  type ReceivedLine,
  type TailProps,
  toEarlyLines,
  toLines,
} from "./tail-lines.ts";

/**
 * Receives the output and errors of a call after its end, so that no run waits. Lines of a running call arrive earlier,
 * by `early`.
 */
export class AgentTail extends WorkerEntrypoint<Env, TailProps> {
  override async tail(events: TraceItem[]): Promise<void> {
    const { props } = this.ctx;
    // A failed call may have appended its lines: with a key, the next attempt does not append them again.
    const lines = toLines(props.revision_id, events).map((line) => ({
      ...line,
      key: line.key ?? newId(),
    }));
    // The platform delivers events only once.
    await retry(() => appendLines(this.env, props, lines), delayOf);
  }

  /** Does not repeat a failed call: its lines arrive again at the end of the call. */
  async early(lines: ReceivedLine[]): Promise<void> {
    const { props } = this.ctx;
    await appendLines(this.env, props, toEarlyLines(props.revision_id, lines, Date.now()));
  }
}

const ATTEMPTS = 3;
const BASE_MS = 500;

function delayOf(_: unknown, attempt: number): number | null {
  return attempt < ATTEMPTS ? backoff({ base_ms: BASE_MS }, attempt, Math.random()) : null;
}

/** Maximum number of lines of one delivery whose stacks are mapped to the source, because agents may print many. */
const MAX_STACKS = 20;

/** A message of RPC has at most 32 MiB, and a character up to two bytes there. */
const MAX_CALL_CHARACTERS = 4 * 1024 * 1024;
/**
 * Combines the lines of a deployment's calls in this isolate: the object of the log serves about 1,000 calls a second.
 */
const batcher = new Batcher<AgentLine>({
  window_ms: 100,
  poll_ms: 50,
  timeout_ms: 10_000,
  max_size: MAX_CALL_CHARACTERS,
});

/** Appends lines to the log of a deployment's agents. Stacks get the positions of the source. */
export async function appendLines(env: Env, props: TailProps, lines: AgentLine[]): Promise<void> {
  if (lines.length === 0) return;
  const { deployment_id } = props;
  const mapped = await mapLines(env, props, lines);
  const characters = mapped.reduce((sum, { message }) => sum + message.length, 0);
  await batcher.add(deployment_id, mapped, characters, (all) =>
    agentLog(env, deployment_id).append(deployment_id, all),
  );
}

async function mapLines(env: Env, props: TailProps, lines: AgentLine[]): Promise<AgentLine[]> {
  const stacks = lines.filter(({ message }) => hasFrames(message)).slice(0, MAX_STACKS);
  const map = stacks.length === 0 ? null : await sourceMapOf(env, props);
  if (map === null) return lines;
  const texts = mapStacks(
    map,
    stacks.map(({ message }) => message),
  );
  const mapped = new Map(stacks.map((line, at) => [line, texts[at]]));
  return lines.map((line) => ({ ...line, message: mapped.get(line) ?? line.message }));
}
