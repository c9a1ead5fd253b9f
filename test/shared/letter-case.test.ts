import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { containsTextSql } from "../../src/shared/storage/letter-case.ts";
import { api, workspace } from "../support/workspace.ts";

async function contains(stored: string, text: string): Promise<boolean> {
  const { sql, parameter } = containsTextSql("kept.value", text);
  const statement = env.DB.prepare(`SELECT ${sql} AS found FROM (SELECT ? AS value) AS kept`);
  return (await statement.bind(parameter, stored).first<number>("found")) === 1;
}

const LINE = "ÄRGER mit Größe; Ошибка СЕТИ; ΑΘΉΝΑ's 100 % 'quoted'";

test.each(["ärger", "ÄRGER", "größe", "GRößE", "ошибка", "сети", "αθήνα", "100 %", "'QUOTED'"])(
  "a text has %s in any case",
  async (text) => {
    expect(await contains(LINE, text)).toBe(true);
  },
);

test.each(["arger", "сетя", '"quoted"'])("a text does not have %s", async (text) => {
  expect(await contains(LINE, text)).toBe(false);
});

// Letters whose lower case is another in JavaScript than in SQLite, or depends on their place.
test.each([
  ["İstanbul", "İstanbul"],
  ["ΣΩΚΡΑΤΗΣ", "ΣΩΚΡΑΤΗΣ"],
  ["ΣΩΚΡΑΤΗΣ", "σωκράτης".replace("ά", "α")],
  ["σωκρατης", "ΣΩΚΡΑΤΗΣ"],
  ["STRAẞE", "STRAẞE"],
  ["STRAẞE", "straße"],
  ["KAPI", "kapı"],
  ["kapı", "kapı"],
  ["Džungla", "DŽUNGLA"],
  ["300 K", "300 k"],
])("%s is found by %s", async (stored, text) => {
  expect(await contains(stored, text)).toBe(true);
});

test("a text of two alphabets is one statement", async () => {
  const lettersFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, n) => String.fromCharCode(first + n)).join("");
  const letters = lettersFrom(0x410, 32) + lettersFrom(0x391, 17);
  expect(await contains(letters, letters.toLowerCase())).toBe(true);
});

test("projects and their runs are found by names in other letters", async () => {
  const ours = await workspace();
  const name = "Équipe Ölförderung";
  const project = await api("/api/v1/sessions", { key: ours.editor, json: { name } });
  expect(project.status).toBe(200);
  for (const text of ["équipe", "ÖLFÖRDERUNG", "Équipe"]) {
    const query = new URLSearchParams({ name_contains: text });
    const found = await api(`/api/v1/sessions?${query}`, { key: ours.viewer });
    expect(await found.json()).toMatchObject([{ name }]);
  }
});
