/** Globals that agents' modules need while they load; the builder puts this first. */

/** The SDK reads this when it creates a client without a URL; the harness sets the target later. */
Reflect.set(globalThis, Symbol.for("langgraph_api:fetch"), (...call: Parameters<typeof fetch>) =>
  Reflect.get(globalThis, Symbol.for("heddle:fetch"))(...call),
);

/** Backs `getLogger()` of `@langchain/langgraph-sdk/logging`, also while modules load. */
const GLOBAL_LOGGER = Symbol.for("langgraph.api.sdk-logger");

/** Levels of the SDK's logger with those of the deployment's log. */
const LEVELS = {
  error: "error",
  warn: "warn",
  help: "info",
  data: "info",
  info: "info",
  debug: "debug",
  prompt: "info",
  http: "info",
  verbose: "debug",
  input: "info",
  silly: "debug",
} as const;

const logger: Record<string, unknown> = {};
for (const [name, level] of Object.entries(LEVELS)) {
  logger[name] = (...parts: unknown[]) => {
    // biome-ignore lint/suspicious/noConsole: the agent's own lines; the console of the moment adds their run
    console[level](...parts);
    return logger;
  };
}
Object.assign(globalThis, { [GLOBAL_LOGGER]: logger });
