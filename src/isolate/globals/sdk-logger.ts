/**
 * Backs `getLogger()` of `@langchain/langgraph-sdk/logging`, also while modules load. LangGraph's own server sets a
 * logger of winston under this symbol, so agents may call all methods of one, and on their results.
 */
const GLOBAL_LOGGER = Symbol.for("langgraph.api.sdk-logger");

/** Methods of the SDK's logger, each with the method of `console` that it calls. */
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
