import type { Random } from "./random.ts";
import { pause, type Server } from "./server.ts";

export type Frame = { id: number; event: string; data: string };

/** Everything that one reader received, over all its connections. */
export type Reading = {
  what: string;
  frames: Frame[];
  connections: number;
  /** Whether the server closed the last stream, so that the reader should have all events. */
  is_whole: boolean;
};

type Visit = { server: Server; path: string; random: Random; reading: Reading };

const MAX_LEAVES = 4;

export function newReading(what: string): Reading {
  return { what, frames: [], connections: 0, is_whole: false };
}

/** Reads a run to its end. Disconnects at random, and reconnects after the last event. */
export async function readRun(visit: Visit, leaves = visit.random.upTo(MAX_LEAVES)): Promise<void> {
  const { server, path, random, reading } = visit;
  for (let left = leaves; ; left--) {
    const last = reading.frames.at(-1)?.id;
    const headers = last === undefined ? {} : { "last-event-id": String(last) };
    const response = await server.open("GET", path, { headers });
    if (response.status !== 200) {
      await response.body?.cancel();
      return;
    }
    const after = left > 0 ? random.upTo(3) : Number.POSITIVE_INFINITY;
    reading.is_whole = (await readFrames(response, reading, after)) === "closed";
    if (reading.is_whole) return;
    await pause(random.upTo(120));
  }
}

/** Reads until the stream ends, breaks, or `most` frames have come. */
export async function readFrames(
  response: Response,
  reading: Reading,
  most: number,
): Promise<"closed" | "broken" | "left"> {
  reading.connections++;
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let [text, count] = ["", 0];
  try {
    for (;;) {
      if (count >= most) {
        await reader?.cancel();
        return "left";
      }
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return "closed";
      const parts = (text + value).split("\n\n");
      text = parts.pop() ?? "";
      const frames = parts.flatMap(toFrame);
      reading.frames.push(...frames);
      count += frames.length;
    }
  } catch {
    return "broken";
  }
}

/** Parses a frame of SSE. Returns none for a comment. */
export function toFrame(text: string): Frame[] {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(text)?.[1];
  const [event, id] = [field("event"), field("id")];
  if (event === undefined || id === undefined) return [];
  return [{ id: Number(id), event, data: field("data") ?? "" }];
}
