import { DurableObject } from "cloudflare:workers";
import { allows, type Filters } from "../../../shared/filters.ts";
import { runAlarm } from "../../../shared/work/alarm.ts";
import { sessionOf } from "../events/session.ts";
import { LiveThread } from "./live-thread.ts";
import { packRecord } from "./packed-record.ts";
import { RunMethods } from "./run-methods.ts";
import { RunReaders } from "./run-readers.ts";
import { EventMethods } from "./sockets/event-methods.ts";
import { StateMethods } from "./state-methods.ts";
import { threadWithFilters } from "./stub.ts";
import { notFoundResult, type ThreadCall } from "./thread-calls.ts";
import { ThreadMethods } from "./thread-methods.ts";
import { unlistDeleted } from "./unlisted-thread.ts";

/** The Durable Object of a thread, named `{deployment_id}/{thread_id}`. */
export class ThreadObject extends DurableObject<Env> {
  readonly #thread = new LiveThread(this.ctx, this.env);
  readonly #readers = new RunReaders(this.#thread);
  readonly #methods = [
    new ThreadMethods(this.#thread, this.#readers, (deployment_id, thread_id, filters) =>
      threadWithFilters(this.env, deployment_id, thread_id, filters),
    ),
    new RunMethods(this.#thread, this.#readers),
    new StateMethods(this.env, this.#thread),
    new EventMethods(this.#thread.protocol),
  ];

  /** Checks the filters in the turn that reads: metadata may change between two turns. */
  async call(filters: Filters | null, { method, args }: ThreadCall): Promise<unknown> {
    const hidden = notFoundResult(method);
    if (filters !== null && !this.#isVisibleTo(filters)) return hidden;
    const methods = this.#methods.find((each) => method in each);
    return packRecord(await Reflect.apply(Reflect.get(methods ?? {}, method), methods, args));
  }

  #isVisibleTo(filters: Filters): boolean {
    const { store } = this.#thread;
    return !this.#thread.open() || allows(filters, store.thread.outline().metadata);
  }

  override async alarm() {
    const thread = this.#thread;
    await runAlarm(this.ctx.storage, "ThreadObject", async () => {
      if (thread.open() && thread.alarm.isExpired) await thread.delete();
      else if (thread.store.exists) await thread.alarm.handle();
      else await unlistDeleted(this.ctx.storage, this.env, thread.store);
    });
    thread.protocol.wake();
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#thread.protocol.sockets.accept(sessionOf(request));
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer) {
    await this.#thread.protocol.sockets.message(socket, message);
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string) {
    this.#thread.protocol.sockets.closed(socket, code, reason);
  }
}
