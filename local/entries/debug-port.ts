// workerd's debug port: native RPC to any entrypoint of another workerd process, with props.

export type DebugPort = {
  connect(address: string): {
    getEntrypoint(service: string, entrypoint?: string, props?: object): Fetcher;
  };
};

/** Bindings of the main script on one machine. */
export type MainEnv = Env & {
  DEBUG_PORT: DebugPort;
  /** The pool of processes, which local/serve.ts runs. */
  PROCESSES: Fetcher;
};

/** The address of the main process, relative to the folder that all processes run in. */
export const MAIN_ADDRESS = "unix:main.sock";

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/**
 * Adds every RPC method to an entrypoint. A method runs `call` with its arguments and with a function that calls the
 * same method of a stub.
 */
export function forwardCalls<T extends object>(
  own: T,
  call: (work: (to: Fetcher) => Promise<unknown>, args: unknown[]) => Promise<unknown>,
): T {
  return new Proxy(own, {
    get(target, name) {
      if (typeof name === "symbol" || name in target) return ownProperty(target, name);
      // A stub has every method; the other side refuses those that it lacks.
      return (...args: unknown[]) => {
        const given = { args };
        return call(async (to) => {
          const { args } = given;
          // Released for the garbage collector: a call takes as long as its run, and its arguments have the whole
          // state.
          given.args = [];
          return (to as unknown as Methods)[name]?.(...args);
        }, args);
      };
    },
  });
}

/** Binds methods to the target: one that uses private fields fails on the proxy. */
function ownProperty(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === "function" ? value.bind(target) : value;
}
