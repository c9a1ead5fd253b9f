/** Declares the bindings of the Worker for files that schemas import. No page reads a binding. */
interface Env {
  [binding: string]: never;
}

/** Declares the module for files of the isolate, whose types schemas import. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    getStore(): T | undefined;
    run<R>(store: T, callback: () => R): R;
  }
}
