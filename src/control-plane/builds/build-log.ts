import { nowMicros, toIso } from "../../shared/times.ts";
import type { BuildLine, BuildProgress, BuildSink, SourceCommit } from "./contract.ts";
import { cutMessage } from "./text.ts";

export type BuildLog = {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
  /** Begins a step. The next batch contains it, even without lines. */
  begin(step: BuildProgress["steps"][number]["name"], commit?: SourceCommit | null): void;
  /**
   * Sends waiting lines and steps without the pause. Resolves when the sink has stored them. Rejects if any call of the
   * sink has failed, also an earlier one.
   */
  flush(): Promise<void>;
};

const BATCH_MS = 100;

/**
 * Sends lines in batches and in order. The build waits for them only in `flush`. Timestamps increase strictly.
 */
export function buildLog(sink: BuildSink): BuildLog {
  let waiting: BuildLine[] = [];
  let progress: BuildProgress = { steps: [], commit: null };
  let last = 0;
  let sending: Promise<void> | null = null;
  let failure: unknown = null;
  const pause = breakablePause(BATCH_MS);
  const send = async () => {
    try {
      await pause.wait();
      await drain();
    } catch (error) {
      failure = error;
    } finally {
      sending = null;
    }
  };
  const drain = async () => {
    while (waiting.length > 0 || progress.steps.length > 0) {
      const [lines, begun] = [waiting, progress];
      waiting = [];
      progress = { steps: [], commit: null };
      await sink.log(lines, begun);
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
    begin: (name, commit = null) => {
      progress.steps.push({ name, started_at: new Date().toISOString() });
      progress.commit ??= commit;
      sending ??= send();
    },
    async flush() {
      pause.end();
      await sending;
      await drain();
      if (failure !== null) throw failure;
    },
  };
}

function breakablePause(ms: number) {
  let end = () => {};
  const wait = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  return { wait, end: () => end() };
}
