import { expect } from "vitest";

export type StreamEvent = { id: string; event: string; data: Record<string, unknown> };

/** Yields the events of a stream whose data is JSON. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  expect(response.headers.get("Content-Type")).toBe("text/event-stream");
  let rest = "";
  for await (const text of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames.filter((each) => !each.startsWith(":"))) {
      const [, event = "", data = "", id = ""] =
        /^event: (\w+)\ndata: (.*)\nid: (.*)$/.exec(frame) ?? [];
      yield { id, event, data: JSON.parse(data) };
    }
  }
}

export async function nextOf(events: AsyncGenerator<StreamEvent>): Promise<StreamEvent> {
  const { value, done } = await events.next();
  if (done) throw new Error("The stream has ended");
  return value;
}

export async function listOf(events: AsyncGenerator<StreamEvent>): Promise<StreamEvent[]> {
  const list: StreamEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}
