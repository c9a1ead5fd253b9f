import { describe, expect, test } from "vitest";
import {
  judge,
  type Look,
  MAX_RSS_BYTES,
  startAt,
  type Waiting,
  withoutPause,
} from "../../local/processes/patience.ts";

const WORKER = { pid: 7, rss_bytes: 1, cpu_ms: 1000, io_calls: null, is_stopped: false };

function look(at_s: number, seen: Partial<Look> = {}): Look {
  return { now_ms: at_s * 1000, worker: WORKER, answered: false, host_lives: true, ...seen };
}

/** Verdicts, one per look. */
function watch(...looks: Look[]): string[] {
  let waiting: Waiting = startAt(0);
  return looks.map((one) => {
    const [next, verdict] = judge(waiting, one);
    waiting = next;
    return verdict.is;
  });
}

const worked = (cpu_s: number, pid = 7) => ({ worker: { ...WORKER, pid, cpu_ms: cpu_s * 1000 } });
const UP = [look(1), look(2, { answered: true })];
const GONE = { worker: undefined };

describe("a Worker that was up", () => {
  test("is killed when it computes for ten seconds without an answer", () => {
    const looks = [look(8, worked(7)), look(12, worked(10.9)), look(13, worked(11.1))];
    expect(watch(...UP, ...looks)).toEqual(["fine", "fine", "fine", "fine", "kill"]);
  });

  test("is let be for a minute when the machine gives it no time", () => {
    const looks = [
      look(20, worked(2)),
      look(62, worked(9)),
      look(63, { ...worked(9), answered: true }),
    ];
    expect(watch(...UP, ...looks, look(90, worked(18)))).not.toContain("kill");
  });

  test("is not killed while it reads and writes, however long it computes", () => {
    const busy = (at_s: number, cpu_s: number, io_calls: number) =>
      look(at_s, { worker: { ...WORKER, cpu_ms: cpu_s * 1000, io_calls } });
    const looks = [busy(14, 12, 5), busy(26, 23, 6), busy(90, 80, 7), busy(300, 290, 8)];
    expect(watch(...UP, ...looks)).not.toContain("kill");
    expect(watch(...UP, ...looks, busy(312, 301, 8))).toContain("kill");
    expect(watch(...UP, ...looks, busy(603, 500, 9))).toContain("kill");
  });

  test("is killed when it does nothing at all", () => {
    expect(watch(...UP, look(121), look(123))).toEqual(["fine", "fine", "fine", "kill"]);
  });

  test("is killed when a signal has stopped it for ten seconds", () => {
    const stopped = { worker: { ...WORKER, is_stopped: true } };
    const looks = [look(11, stopped), look(13, stopped)];
    expect(watch(...UP, ...looks)).toEqual(["fine", "fine", "fine", "kill"]);
  });

  test("owes no answer for the time in which the machine was paused", () => {
    const asleep = UP.reduce((waiting, one) => judge(waiting, one)[0], startAt(0));
    const awake = withoutPause(asleep, 2000, 500_000);
    expect(judge(awake, look(500))[1].is).toBe("fine");
    expect(judge(awake, look(622))[1].is).toBe("kill");
    const starved = withoutPause(asleep, 110_000, 123_000);
    expect(judge(starved, look(123))[1].is).toBe("kill");
  });

  test("is killed at once when it outgrows its memory", () => {
    const grown = { worker: { ...WORKER, rss_bytes: MAX_RSS_BYTES + 1 }, answered: true };
    expect(watch(...UP, look(3, grown))).toEqual(["fine", "fine", "kill"]);
  });
});

describe("a Worker that starts", () => {
  test("has its own patience, which begins when the one before it is gone", () => {
    const looks = [look(100, { answered: true }), look(101, GONE), look(130, worked(1, 8))];
    expect(watch(...UP, ...looks, look(131, { ...worked(1, 8), answered: true }))).not.toContain(
      "restart",
    );
    expect(watch(...UP, ...looks, look(132, worked(1, 8)))).toContain("restart");
  });

  test("has twice as much after each start that nothing came of", () => {
    const looks = [31, 60, 90, 92, 150, 211, 213].map((at) => look(at, GONE));
    expect(watch(...looks)).toEqual([
      "restart",
      "fine",
      "fine",
      "restart",
      "fine",
      "fine",
      "restart",
    ]);
  });

  test("is not taken for up because its predecessor answered", () => {
    const looks = [look(3, { ...worked(1, 8), answered: true }), look(20, worked(12, 8))];
    expect(watch(...UP, ...looks)).not.toContain("kill");
  });

  test("is killed when it computes for long: it may have begun where its predecessor ended", () => {
    expect(watch(look(1), look(25, worked(21)))).toEqual(["fine", "kill"]);
  });

  test("is awaited, with the first patience, after a kill", () => {
    const looks = [look(20, worked(12)), look(49, GONE), look(51, GONE)];
    expect(watch(...UP, ...looks)).toEqual(["fine", "fine", "kill", "fine", "restart"]);
  });
});

test("wrangler's own end is not waited for", () => {
  expect(watch(...UP, look(3, { host_lives: false }))).toEqual(["fine", "fine", "restart"]);
});
