import { DurableObject } from "cloudflare:workers";
import { allows, type Filters } from "../../../shared/filters.ts";
import { runAlarm } from "../../../shared/work/alarm.ts";
import { elsewhereResponse, isToShared, sessionOf } from "../events/session.ts";
import { LiveThread } from "./live-thread.ts";
import { resultOf } from "./log/ended-runs.ts";
import { packRecord } from "./packed-record.ts";
import { RunMethods } from "./run-methods.ts";
import { RunReaders } from "./run-readers.ts";
import { EventMethods } from "./sockets/event-methods.ts";
import { StateMethods } from "./state-methods.ts";
import { threadWithFilters } from "./stub.ts";
import {
  beginsTemporary,
  ELSEWHERE,
  isOfEnded,
  notFoundResult,
  type ThreadCall,
} from "./thread-calls.ts";
import { ThreadMethods } from "./thread-methods.ts";
import { unlistDeleted } from "./unlisted-thread.ts";

/**
 * The Durable Object of a thread, named `{deployment_id}/{thread_id}`. An object named
 * `{deployment_id}/shared/{number}` has temporary threads, one after the other, so its calls name the thread
 * (`callShared`).
 */
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
  /** Number of calls in progress: during them, the object takes no other thread. */
  #calls = 0;

  /** Checks the filters in the turn that reads: metadata may change between two turns. */
  async call(filters: Filters | null, { method, args }: ThreadCall): Promise<unknown> {
    this.#thread.writeDeferred();
    const hidden = notFoundResult(method);
    if (filters !== null && !this.#isVisibleTo(filters)) return hidden;
    const methods = this.#methods.find((each) => method in each);
    this.#calls += 1;
    try {
      return packRecord(await Reflect.apply(Reflect.get(methods ?? {}, method), methods, args));
    } finally {
      this.#calls -= 1;
    }
  }

  /** @returns `ELSEWHERE` when another object may have the thread */
  async callShared(thread_id: string, filters: Filters | null, call: ThreadCall): Promise<unknown> {
    if (this.#has(thread_id) || this.#makeRoomFor(thread_id, call)) return this.call(filters, call);
    const { endedRuns } = this.#thread.store;
    const metadata = endedRuns.metadataOf(thread_id);
    if (metadata === null) return ELSEWHERE;
    const isVisible = filters === null || allows(filters, metadata);
    if (!isVisible || !isOfEnded(call)) return notFoundResult(call.method);
    const events = endedRuns.eventsOf(thread_id, call.args[0]);
    if (call.method === "hasRun") return events !== null;
    if (call.method === "joinRun") return toStream(events && resultOf(events));
    return events && this.#readers.endedEvents(events, call.args[1]);
  }

  #has(thread_id: string): boolean {
    return this.#thread.open() && this.#thread.store.has(thread_id);
  }

  /** @returns `false` when the call does not begin a thread, or the thread of this object stays */
  #makeRoomFor(thread_id: string, call: ThreadCall): boolean {
    if (!beginsTemporary(thread_id, call)) return false;
    return !this.#thread.store.exists || (this.#calls === 0 && this.#thread.vacate());
  }

  #isVisibleTo(filters: Filters): boolean {
    const { store } = this.#thread;
    return !this.#thread.open() || allows(filters, store.thread.outline().metadata);
  }

  override async alarm() {
    const thread = this.#thread;
    thread.writeDeferred();
    await runAlarm(this.ctx.storage, "ThreadObject", async () => {
      if (!thread.open()) return unlistDeleted(this.ctx.storage, this.env, thread.store);
      const { id } = thread.store.thread;
      if (thread.alarm.isExpired) await thread.deleteExpired();
      else await thread.alarm.handle();
      if (!thread.store.has(id)) thread.protocol.closeThread(id);
    });
    thread.protocol.wake();
  }

  override async fetch(request: Request): Promise<Response> {
    this.#thread.writeDeferred();
    const session = sessionOf(request);
    const isHere = !isToShared(request) || this.#has(session.thread_id);
    return isHere ? this.#thread.protocol.sockets.accept(session) : elsewhereResponse();
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer) {
    await this.#thread.protocol.sockets.message(socket, message);
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string) {
    this.#thread.protocol.sockets.closed(socket, code, reason);
  }
}

function toStream(text: string | null): ReadableStream | null {
  return text === null ? null : new Blob([text]).stream();
}
