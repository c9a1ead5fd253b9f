/** Globals that agents' modules need while they load; the builder puts this first. */
import "./sdk-logger.ts";

/** The SDK reads this when it creates a client without a URL; the harness sets the target later. */
Reflect.set(globalThis, Symbol.for("langgraph_api:fetch"), (...call: Parameters<typeof fetch>) =>
  Reflect.get(globalThis, Symbol.for("heddle:fetch"))(...call),
);
