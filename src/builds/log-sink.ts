import { RpcTarget } from "cloudflare:workers";
import { appendLog, type Build } from "../deployments/build-service.ts";
import type { BuildLine, BuildSink } from "./contract.ts";

const MAX_LINES = 20_000;

/** What the builder gets to write its log to: the lines of one attempt, and no other row. */
export class LogSink extends RpcTarget implements BuildSink {
  readonly #env: Env;
  readonly #build: Build;
  #lines = 0;

  constructor(env: Env, build: Build) {
    super();
    this.#env = env;
    this.#build = build;
  }

  async log(lines: BuildLine[]): Promise<void> {
    const kept = lines.slice(0, Math.max(0, MAX_LINES - this.#lines));
    this.#lines += kept.length;
    const last = kept.at(-1);
    if (last && this.#lines === MAX_LINES) {
      kept.push({
        ...last,
        level: "WARNING",
        message: `The log ends here, after ${MAX_LINES} lines.`,
      });
    }
    await appendLog(this.#env, this.#build, kept, new Date());
  }
}
