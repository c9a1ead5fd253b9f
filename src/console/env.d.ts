/** Bindings of the Worker, which files that schemas import name. No page reads one. */
interface Env {
  [binding: string]: never;
}

/** Schemas import types of the isolate, whose files import this. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    getStore(): T | undefined;
    run<R>(store: T, callback: () => R): R;
  }
}
