import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { whileStopped } from "../../../scripts/backup/freeze.ts";
import { MomentError } from "../../../scripts/backup/problem.ts";
import { eventually } from "../../support/eventually.ts";

/** Writes a number to the first file, then the same number to the second, as fast as it can. */
const WRITER = `
const { writeFileSync } = require("node:fs");
const [, first, second] = process.argv;
for (let n = 1; ; n += 1) for (const file of [first, second]) writeFileSync(file, String(n).padStart(12));
`;

test("two files that are read while their writer is stopped are of one moment", async () => {
  const dir = await mkdtemp(join(tmpdir(), "heddle-freeze-"));
  const [first, second] = [join(dir, "first"), join(dir, "second")];
  const writer = spawn(process.execPath, ["-e", WRITER, first, second], { stdio: "ignore" });
  const pid = writer.pid ?? 0;
  const read = (file: string) => Number(readFileSync(file, "utf8"));
  try {
    await eventually(() => expect(existsSync(second)).toBe(true));
    let last = 0;
    for (let n = 0; n < 20; n += 1) {
      // The second is read first: a writer that runs would be ahead in the first.
      const [[b, a, b_again]] = await whileStopped(pid, () => {
        const b = read(second);
        const until = performance.now() + 20;
        while (performance.now() < until);
        return [b, read(first), read(second)] as const;
      });
      expect(b_again).toBe(b);
      // The process may be stopped between the truncation and the write of the first, which is then empty.
      if (a > 0 && b > 0) expect([b, b + 1]).toContain(a);
      expect(Math.max(a, b)).toBeGreaterThanOrEqual(last);
      last = Math.max(a, b);
      await sleep(1);
    }
    await eventually(() => expect(read(second)).toBeGreaterThan(last));
  } finally {
    writer.kill("SIGKILL");
    await rm(dir, { recursive: true, force: true });
  }
});

test("a process whose files cannot be read continues", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => process.stdout.write('.'), 5)"]);
  const pid = child.pid ?? 0;
  let ticks = 0;
  child.stdout.on("data", () => {
    ticks += 1;
  });
  try {
    await eventually(() => expect(ticks).toBeGreaterThan(0));
    const failing = whileStopped(pid, () => {
      throw new Error("disk full");
    });
    await expect(failing).rejects.toThrow("disk full");
    const before = ticks;
    await eventually(() => expect(ticks).toBeGreaterThan(before + 3));
  } finally {
    child.kill("SIGKILL");
  }
});

test("a pause that another program ends can be tried again", async () => {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  const pid = child.pid ?? 0;
  try {
    const ended = whileStopped(pid, () => process.kill(pid, "SIGCONT"));
    await expect(ended).rejects.toThrow(MomentError);
  } finally {
    child.kill("SIGKILL");
  }
});
