import type { Host } from "../contract.ts";
import { track } from "../globals/pending-work.ts";
import type { IndexChoice } from "../store-contract.ts";
import {
  type Item,
  type SearchOptions,
  StoreError,
  type StoreOperation,
  toOps,
  toResult,
  type Value,
} from "./store-operations.ts";

type Waiting = {
  operation: StoreOperation;
  resolve(result: unknown): void;
  reject(error: unknown): void;
};

/**
 * Store of the deployment with the interface of LangGraph's BaseStore, for agents without LangGraph too. Operations
 * that start before the next microtask are one batch.
 */
export class HostStore {
  readonly #host: Pick<Host, "store">;
  #waiting: Waiting[] = [];

  constructor(host: Pick<Host, "store">) {
    this.#host = host;
  }

  async get(namespace: string[], key: string): Promise<Item | null> {
    return (await this.#enqueue({ namespace, key })) as Item | null;
  }

  async search(namespacePrefix: string[], options: SearchOptions = {}): Promise<Item[]> {
    return (await this.#enqueue({ namespacePrefix, ...options })) as Item[];
  }

  async put(namespace: string[], key: string, value: Value, index?: IndexChoice): Promise<void> {
    await this.#enqueue({ namespace, key, value, index });
  }

  async delete(namespace: string[], key: string): Promise<void> {
    await this.#enqueue({ namespace, key, value: null });
  }

  async listNamespaces(
    options: {
      prefix?: string[];
      suffix?: string[];
      maxDepth?: number;
      limit?: number;
      offset?: number;
    } = {},
  ): Promise<string[][]> {
    const { prefix, suffix, ...page } = options;
    const matchConditions = [
      ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
      ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
    ];
    return (await this.#enqueue({ matchConditions, ...page })) as string[][];
  }

  start() {}
  stop() {}

  async batch(operations: StoreOperation[]): Promise<unknown[]> {
    try {
      return await this.#call(await toOps(operations));
    } catch (error) {
      throw this.toThrown(error);
    }
  }

  /** Returns the error that the agent's code catches. */
  protected toThrown(error: unknown): unknown {
    return error;
  }

  async #call(ops: Awaited<ReturnType<typeof toOps>>): Promise<unknown[]> {
    const answer = await track(this.#host.store(ops));
    if (!answer.ok) throw new StoreError(answer.refusal.message, answer.refusal);
    return answer.results.map(toResult);
  }

  #enqueue(operation: StoreOperation): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, resolve, reject });
      if (this.#waiting.length === 1) queueMicrotask(() => this.#send());
    });
  }

  /** Sends what waits as one batch. After a refusal sends each operation alone, so that only the refused ones fail. */
  async #send() {
    const waiting = this.#waiting;
    this.#waiting = [];
    let isSent = false;
    try {
      const ops = await toOps(waiting.map(({ operation }) => operation));
      isSent = true;
      const results = await this.#call(ops);
      for (const [n, { resolve }] of waiting.entries()) resolve(results[n]);
    } catch (error) {
      const isOfOne = waiting.length > 1 && (!isSent || error instanceof StoreError);
      if (isOfOne) await Promise.all(waiting.map((one) => this.#sendAlone(one)));
      else for (const { reject } of waiting) reject(this.toThrown(error));
    }
  }

  async #sendAlone({ operation, resolve, reject }: Waiting) {
    try {
      resolve((await this.batch([operation]))[0]);
    } catch (error) {
      reject(error);
    }
  }
}
