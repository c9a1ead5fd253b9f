import { RpcTarget } from "cloudflare:workers";
import { Buffer } from "node:buffer";
import { appendLog, type RevisionBuild } from "../../deployments/rollout/build-service.ts";
import type { BuildLine, BuildSink } from "../contract.ts";
import { LOG_BYTES } from "../limits.ts";
import { bytesText, cutMessage } from "../text.ts";

const MAX_LINES = 20_000;

/** Lets the builder append lines to the log of one attempt, and write no other row. */
export class LogSink extends RpcTarget implements BuildSink {
  readonly #env: Env;
  readonly #build: RevisionBuild;
  #lines = 0;
  #bytes = 0;
  #isCut = false;

  constructor(env: Env, build: RevisionBuild) {
    super();
    this.#env = env;
    this.#build = build;
  }

  /** Drops lines over the limits and renews the lease all the same. */
  async log(lines: BuildLine[]): Promise<void> {
    const kept: BuildLine[] = [];
    for (const line of lines) {
      if (this.#isCut) break;
      kept.push(this.#count(line));
    }
    await appendLog(this.#env, this.#build, kept, new Date());
  }

  /** @returns the line, or in place of the first line over a limit a warning. */
  #count(line: BuildLine): BuildLine {
    const message = cutMessage(line.message);
    this.#lines += 1;
    this.#bytes += Buffer.byteLength(message);
    this.#isCut = this.#lines > MAX_LINES || this.#bytes > LOG_BYTES;
    if (!this.#isCut) return { ...line, message };
    const limits = `${MAX_LINES} lines and ${bytesText(LOG_BYTES)}`;
    const text = `The log is cut here: the log of an attempt has at most ${limits}.`;
    return { level: "WARNING", message: text, timestamp: line.timestamp };
  }
}
