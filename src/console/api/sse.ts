export type ServerSentEvent = { id: string | null; event: string; data: string };

/** Yields the events of a stream. Comments, such as heartbeats, are skipped. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const bytes of chunksOf(body)) {
    const frames = (buffer + decoder.decode(bytes, { stream: true }))
      .replaceAll("\r\n", "\n")
      .split("\n\n");
    buffer = frames.pop() ?? "";
    for (const frame of frames) {
      const event = toEvent(frame);
      if (event) yield event;
    }
  }
}

// Safari 17 cannot iterate over a stream.
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

export function toEvent(frame: string): ServerSentEvent | null {
  let id: string | null = null;
  let event = "message";
  const data: string[] = [];
  for (const line of frame.split("\n")) {
    const [name = "", rest = ""] = splitOnce(line);
    if (name === "id") id = rest;
    if (name === "event") event = rest;
    if (name === "data") data.push(rest);
  }
  return data.length === 0 ? null : { id, event, data: data.join("\n") };
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf(":");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
}
