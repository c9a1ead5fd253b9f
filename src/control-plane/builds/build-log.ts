import { nowMicros, toIso } from "../../shared/times.ts";
import type { BuildLine, BuildSink } from "./contract.ts";
import { cutMessage } from "./text.ts";

export type BuildLog = {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  /** Resolves when every line so far has been taken; rejects when the sink refused one. */
  flush(): Promise<void>;
};

const BATCH_MS = 100;

/** Lines leave in small batches, in order, one call in flight; the build does not wait for them. No two have one time. */
export function buildLog(sink: BuildSink): BuildLog {
  let waiting: BuildLine[] = [];
  let last = 0;
  let sending: Promise<void> | null = null;
  let failure: unknown = null;
  const send = async () => {
    try {
      await new Promise((resolve) => setTimeout(resolve, BATCH_MS));
      await drain();
    } catch (error) {
      failure = error;
    } finally {
      sending = null;
    }
  };
  const drain = async () => {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      await sink.log(lines);
    }
  };
  const add = (level: BuildLine["level"], message: string) => {
    last = Math.max(nowMicros(), last + 1);
    waiting.push({ level, message: cutMessage(message), timestamp: toIso(last) });
    sending ??= send();
  };
  return {
    debug: (message) => add("DEBUG", message),
    info: (message) => add("INFO", message),
    warn: (message) => add("WARNING", message),
    error: (message) => add("ERROR", message),
    async flush() {
      await sending;
      await drain();
      if (failure !== null) throw failure;
    },
  };
}
