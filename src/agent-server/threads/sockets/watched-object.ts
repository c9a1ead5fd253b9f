import { DurableObject } from "cloudflare:workers";
import type { EventFilter } from "../events/filter.ts";
import { type Session, sessionOf } from "../events/session.ts";
import type { ProtocolReaders } from "./readers.ts";

/** What is asked of a thread's object by those who watch it. */
export abstract class WatchedObject extends DurableObject<Env> {
  protected abstract readonly protocol: ProtocolReaders;

  /** Of a thread that is there, or comes. Null: one that its reader may not see. */
  async followEvents(
    filter: EventFilter,
    since: number,
    session: Session,
  ): Promise<ReadableStream | null> {
    return this.protocol.stream(filter, since, session);
  }

  async readTree(run_id: string | null) {
    return this.protocol.tree(run_id);
  }

  /** Always: who may not see the thread is told so before. */
  async isVisible(): Promise<boolean> {
    return true;
  }

  override async fetch(request: Request): Promise<Response> {
    return this.protocol.sockets.accept(sessionOf(request));
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer) {
    await this.protocol.sockets.message(socket, message);
  }

  override webSocketClose(socket: WebSocket, code: number, reason: string) {
    this.protocol.sockets.closed(socket, code, reason);
  }
}
