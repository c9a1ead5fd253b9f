/** What an agent's modules may ask for while they load: the builder puts this before all of them. */
import "./sdk-logger.ts";

/** The SDK takes this when a client without a URL is made; where it leads, the harness says later. */
Reflect.set(globalThis, Symbol.for("langgraph_api:fetch"), (...call: Parameters<typeof fetch>) =>
  Reflect.get(globalThis, Symbol.for("heddle:fetch"))(...call),
);
