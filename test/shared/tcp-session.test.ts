import { expect, onTestFinished, test, vi } from "vitest";
import { TcpSession } from "../../src/shared/egress/tcp-session.ts";
import { eventually } from "../support/eventually.ts";

const IDLE_MS = 20;

/** Opens a session on a socket whose server sends nothing. */
function open() {
  const { readable } = new TransformStream<Uint8Array, Uint8Array>();
  const close = vi.fn(async () => {});
  const socket = { readable, writable: new WritableStream<Uint8Array>(), close };
  const release = vi.fn();
  const session = new TcpSession(socket as unknown as Socket, "db.example.com", release, IDLE_MS);
  return { session, close, release };
}

test("a socket that is idle is closed and released", async () => {
  const { close, release } = open();
  await eventually(() => expect(release).toHaveBeenCalledTimes(1));
  expect(close).toHaveBeenCalledTimes(1);
});

test("a socket in use stays open", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { session, close } = open();
  for (let n = 0; n < 3; n++) {
    vi.advanceTimersByTime(IDLE_MS - 1);
    await session.write(new Uint8Array(1));
    await scheduler.wait(2 * IDLE_MS);
    expect(close).not.toHaveBeenCalled();
  }
  vi.advanceTimersByTime(IDLE_MS);
  await eventually(() => expect(close).toHaveBeenCalledTimes(1));
});
