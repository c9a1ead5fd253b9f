/** What `getLogger()` of `@langchain/langgraph-sdk/logging` answers; it looks here, also while modules load. */
const GLOBAL_LOGGER = Symbol.for("langgraph.api.sdk-logger");

/** The levels that its type names, and where the log of the deployment keeps each. */
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
    // biome-ignore lint/suspicious/noConsole: the agent's own lines; the console of the moment tells them of their run
    console[level](...parts);
    return logger;
  };
}
Object.assign(globalThis, { [GLOBAL_LOGGER]: logger });
