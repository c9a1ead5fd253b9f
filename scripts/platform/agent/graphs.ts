// Functions that probe the platform from inside an isolate. No package is imported: the build installs nothing.
import net from "node:net";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The check of a second revision replaces this text. */
const VERSION = "first";
/** Created by a call: Workers allow no randomness while modules load. */
let isolate: string | undefined;

type Tools = { messages: unknown[]; signal: AbortSignal };

export async function echo({ text }: { text?: string }, { messages }: Tools) {
  return { echo: text, turns: messages.length };
}

export async function* steps(
  { count, pause_ms }: { count: number; pause_ms: number },
  { signal }: Tools,
) {
  for (let step = 1; step <= count; step += 1) {
    signal.throwIfAborted();
    yield { step };
    await pause(pause_ms);
  }
}

/** Emits nothing until its end. */
export async function waits({ ms }: { ms: number }) {
  const started = Date.now();
  await pause(ms);
  return { waited_ms: Date.now() - started, now: Date.now() };
}

export async function fetches(input: { url: string; count: number; at_once: number }) {
  const statuses: number[] = [];
  for (let left = input.count; left > 0; left -= input.at_once) {
    const urls = Array<string>(Math.min(left, input.at_once)).fill(input.url);
    statuses.push(...(await Promise.all(urls.map(statusOf))));
  }
  const failed = statuses.filter((status) => status >= 400);
  return { answered: statuses.length - failed.length, failed: failed.slice(0, 10) };
}

/** Returns the status and the beginning of the answer of each URL, or status 0 and the error. */
export async function reads({ urls }: { urls: string[] }) {
  const read = async (url: string) => {
    const response = await fetch(url);
    return { status: response.status, text: (await response.text()).slice(0, 1000) };
  };
  const answers = urls.map((url) => read(url).catch(failure));
  return { answers: await Promise.all(answers) };
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

const failure = (error: unknown) => ({ status: 0, text: String(error) });

export async function large({ characters }: { characters: number }) {
  return { large: "x".repeat(characters) };
}

export async function identity() {
  isolate ??= crypto.randomUUID();
  return { isolate, version: VERSION, secret: process.env.PLATFORM_CHECK ?? null };
}

/** Returns the names of the variables that the code can read, and whether it can generate code from text. */
export async function surroundings() {
  const generates = () => new Function("return 1")() === 1;
  let generates_code = false;
  try {
    generates_code = generates();
  } catch {
    // Workers refuse it.
  }
  return { names: Object.keys(process.env), generates_code };
}

export async function prints({ text }: { text: string }) {
  console.log(text);
  throw new Error(`${text} was thrown`);
}

/** Calls the agent's own server, as a client of the SDK without a URL does. */
export async function calls({ text }: { text: string }) {
  const call: typeof fetch = Reflect.get(globalThis, Symbol.for("langgraph_api:fetch"));
  const body = JSON.stringify({ assistant_id: "echo", input: { text } });
  const headers = { "Content-Type": "application/json" };
  const response = await call("https://server/runs/wait", { method: "POST", headers, body });
  return { status: response.status, answer: await response.json() };
}

export async function connects(input: { host: string; port: number; text: string }) {
  const answer = await new Promise<string>((resolve) => {
    const socket = net.connect(input.port, input.host, () => socket.write(input.text));
    socket.setTimeout(10_000, () => resolve("no answer in 10 s"));
    socket.once("data", (data) => resolve(String(data)));
    socket.once("error", (error) => resolve(String(error)));
  });
  return { answer };
}

/**
 * Computes without a pause. The clock of a Worker does not advance during that, so the caller gives a number of rounds.
 */
export async function spins({ millions }: { millions: number }) {
  let sum = 0;
  for (let n = 0; n < millions; n += 1) {
    for (let m = 0; m < 1_000_000; m += 1) sum = (sum + m) | 0;
  }
  return { sum };
}

/** Keeps memory until the isolate is ended. */
export async function hoards({ megabytes }: { megabytes: number }) {
  const kept: number[][] = [];
  for (let n = 0; n < megabytes; n += 1) {
    kept.push(Array.from({ length: 131_072 }, (_, m) => n + m + 0.5));
    await pause(1);
  }
  return { kept: kept.length };
}
