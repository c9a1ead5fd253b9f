import { z } from "zod";
import { AppError } from "../../shared/errors.ts";
import {
  RPC_ERRORS,
  type RpcAnswer,
  type RpcId,
  rpcError,
  rpcResult,
} from "../../shared/http/json-rpc.ts";
import { log } from "../../shared/log.ts";
import type { RunTarget } from "../threads/contract/records.ts";
import { toText } from "./messages.ts";
import {
  ARTIFACT_ID,
  type ResultFormat,
  type TaskArtifact,
  type TaskEvent,
  type TaskSnapshot,
  toArtifacts,
  toStatus,
  toTask,
} from "./task.ts";

export type A2aTarget = RunTarget & { assistant_id: string };

/** A JSON-RPC response, the text of one after newlines that keep the connection open, or server-sent events. */
export type A2aAnswer = RpcAnswer | { text: ReadableStream } | { events: ReadableStream };

type TaskRef = Pick<TaskSnapshot, "task_id" | "thread_id">;

/**
 * Replaces the result of a run by the response to a blocking call. Each chunk of the result becomes a newline before
 * it.
 */
export function toWaitedAnswer(
  id: RpcId,
  result: ReadableStream,
  readAnswer: () => Promise<unknown>,
): ReadableStream {
  const encoder = new TextEncoder();
  const answer = new TransformStream<Uint8Array, Uint8Array>({
    transform(_chunk, controller) {
      controller.enqueue(encoder.encode("\n"));
    },
    async flush(controller) {
      const response = await orFailure(id, async () => rpcResult(id, await readAnswer()));
      controller.enqueue(encoder.encode(JSON.stringify(response)));
    },
  });
  return result.pipeThrough(answer);
}

/**
 * Converts the events of a run to those of its task: the task, chunks of its artifact, the whole artifact, the status.
 */
export function toTaskEvents(
  id: RpcId,
  begin: TaskSnapshot,
  events: ReadableStream,
  readEnd: () => Promise<TaskSnapshot>,
  format: ResultFormat,
): ReadableStream {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const writer = new TaskWriter(begin);
  const splitter = new FrameSplitter();
  const frames = (results: TaskEvent[]) =>
    encoder.encode(results.map((result) => toFrame(rpcResult(id, format.event(result)))).join(""));
  const translation = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      controller.enqueue(frames([toTask(begin)]));
    },
    transform(chunk, controller) {
      for (const part of splitter.take(decoder.decode(chunk, { stream: true }))) {
        const results = writer.take(part);
        // Comments of server-sent events keep the connection open.
        if (part.startsWith(":")) controller.enqueue(encoder.encode(`${part}\n\n`));
        else if (results.length > 0) controller.enqueue(frames(results));
      }
    },
    async flush(controller) {
      const failure = await orFailure(id, async () => {
        controller.enqueue(frames(writer.end(await readEnd())));
        return null;
      });
      if (failure) controller.enqueue(encoder.encode(toFrame(failure)));
    },
  });
  return events.pipeThrough(translation);
}

/**
 * Splits texts into frames at empty lines. Joins the pieces of a frame once, when it is whole: the work is linear in
 * its size.
 */
class FrameSplitter {
  /** Texts of the frame that is not whole. */
  #pieces: string[] = [];
  #endsLine = false;

  /** Takes the next text. @returns the frames that end within it */
  take(text: string): string[] {
    if (text === "") return [];
    // The separator, two line breaks, may be split between two texts.
    const whole = this.#endsLine ? `\n${text}` : text;
    this.#endsLine = whole.endsWith("\n") && !whole.endsWith("\n\n");
    const [first = "", ...others] = (this.#endsLine ? whole.slice(0, -1) : whole).split("\n\n");
    this.#pieces.push(first);
    const rest = others.pop();
    if (rest === undefined) return [];
    const frames = [this.#pieces.join(""), ...others];
    this.#pieces = [rest];
    return frames;
  }
}

/** Returns a failure as a JSON-RPC error: the HTTP response has begun, so its status cannot change any more. */
async function orFailure<T>(id: RpcId, work: () => Promise<T>): Promise<T | RpcAnswer> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = AppError.from(error);
    if (code === "internal") log.error("task_not_read", error);
    return rpcError(id, RPC_ERRORS.refused, message);
  }
}

/** Encoded JSON has no line breaks. */
export function toFrame(answer: unknown): string {
  return `data: ${JSON.stringify(answer)}\n\n`;
}

/** The agent's code can write any JSON as an event. */
const Chunk = z.object({
  id: z.unknown().optional(),
  type: z.unknown().optional(),
  content: z.unknown().optional(),
});
const Chunks = z.tuple([Chunk]).rest(z.unknown());

class TaskWriter {
  readonly #ref: { taskId: string; contextId: string };
  readonly #begin: TaskSnapshot;
  #message: unknown = null;

  constructor(begin: TaskSnapshot & TaskRef) {
    this.#begin = begin;
    this.#ref = { taskId: begin.task_id, contextId: begin.thread_id };
  }

  take(frame: string): TaskEvent[] {
    const lines = frame.split("\n");
    const event = lines.find((line) => line.startsWith("event: "))?.slice("event: ".length);
    const data = lines.find((line) => line.startsWith("data: "))?.slice("data: ".length);
    if (data === undefined) return [];
    if (event === "metadata") return [this.#status({ ...this.#begin, status: "running" }, false)];
    return event?.split("|")[0] === "messages" ? this.#token(JSON.parse(data)) : [];
  }

  end(task: TaskSnapshot): TaskEvent[] {
    const artifacts = toArtifacts(task).map((artifact) => this.#artifact(artifact, {}, true));
    return [...artifacts, this.#status(task, true)];
  }

  /**
   * Returns the chunk of an artifact for a token of the agent. The first token of another message replaces the
   * artifact.
   */
  #token(data: unknown): TaskEvent[] {
    const [chunk] = Chunks.safeParse(data).data ?? [];
    if (!chunk) return [];
    const text = toText(chunk.content);
    if (text === "" || !/^ai/i.test(String(chunk.type))) return [];
    const append = this.#message === chunk.id;
    this.#message = chunk.id;
    const artifact = { artifactId: ARTIFACT_ID, name: ARTIFACT_ID };
    return [this.#artifact({ ...artifact, parts: [{ kind: "text", text }] }, { append }, false)];
  }

  #artifact(artifact: TaskArtifact, how: { append?: boolean }, lastChunk: boolean): TaskEvent {
    const { append = false } = how;
    return { kind: "artifact-update", ...this.#ref, artifact, append, lastChunk };
  }

  #status(task: TaskSnapshot, final: boolean): TaskEvent {
    return { kind: "status-update", ...this.#ref, status: toStatus(task), final };
  }
}
