import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLog } from "../../local/processes/log-file.ts";

test("a log is appended to after a restart, and keeps the newest lines in two files of a bounded size", async () => {
  const dir = await mkdtemp(join(tmpdir(), "heddle-log-"));
  const path = join(dir, "a.log");
  for (const start of [0, 500]) {
    const log = openLog(path, 1000);
    for (let n = start; n < start + 500; n++) log.write(`line ${n}`);
    log.close();
  }
  const [older, newer] = await Promise.all(
    [`${path}.1`, path].map((file) => readFile(file, "utf8")),
  );
  expect(await readdir(dir)).toEqual(["a.log", "a.log.1"]);
  expect(Math.max(older?.length ?? 0, newer?.length ?? 0)).toBeLessThan(1100);
  const lines = `${older}${newer}`.trim().split("\n");
  expect(lines.at(-1)).toBe("line 999");
  expect(lines).toEqual(lines.map((_, n) => `line ${1000 - lines.length + n}`));
  await rm(dir, { recursive: true });
});

test("lines that a full disk refuses, and those after the close, end nothing", async () => {
  const dir = await mkdtemp(join(tmpdir(), "heddle-log-"));
  const full = openLog("/dev/full");
  expect(() => full.write("lost")).not.toThrow();
  full.close();
  const path = join(dir, "a.log");
  const log = openLog(path);
  log.write("first");
  log.close();
  log.close();
  log.write("late");
  expect(await readFile(path, "utf8")).toBe("first\n");
  await rm(dir, { recursive: true });
});
