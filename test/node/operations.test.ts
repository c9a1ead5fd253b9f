// The operator's guides: they must name what the configuration needs and the code logs.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { REGIONS } from "../../scripts/regions.ts";

const run = promisify(execFile);
const guides = ["operate", "operate-regions"].map((name) => `docs/guides/${name}.md`);
const text = (await Promise.all(guides.map((path) => readFile(path, "utf8")))).join("\n");
const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);

/** The block's commands as the shell hands them to npx, one a line. */
async function commandsOf(block: string, REGION: string): Promise<string[]> {
  const script = `npx() { echo "$*"; }\n${block}`;
  const { stdout } = await run("bash", ["-euc", script], { env: { ...process.env, REGION } });
  return stdout.trim().split("\n");
}

test.each(REGIONS)("every store of %s is made, and pinned to it", async (region) => {
  const { d1_databases, r2_buckets, queues } = readConfig({ config: "wrangler.toml", env: region });
  const pinned = `--jurisdiction ${region}`;
  const consumed: { queue: string; dead_letter_queue: string }[] = queues.consumers;
  const wanted = [
    `wrangler d1 create ${d1_databases[0].database_name} ${pinned}`,
    `wrangler r2 bucket create ${r2_buckets[0].bucket_name} ${pinned}`,
    ...consumed.flatMap(({ queue, dead_letter_queue }) => [
      `wrangler queues create ${queue} ${pinned}`,
      `wrangler queues create ${dead_letter_queue} ${pinned} --message-retention-period-secs 1209600`,
    ]),
  ];
  const creating = blocks.find((block) => block.includes("d1 create")) ?? "";
  expect((await commandsOf(creating, region)).sort()).toEqual(wanted.sort());
});

test("every event that the Worker logs is explained", async () => {
  const { stdout } = await run("git", ["grep", "-hE", "log\\.(info|warn|error)\\(|event:", "src/"]);
  const NAME = '"([a-z]+(?:_[a-z]+)+)"';
  const LOGGED = `(?:log\\.(?:info|warn|error)\\(|event: )(?:\\w+ \\? ${NAME} : )?${NAME}`;
  const logged = stdout.matchAll(new RegExp(LOGGED, "g"));
  const events = [...new Set([...logged].flatMap(([, ...names]) => names.filter(Boolean)))];
  expect(events.length).toBeGreaterThan(15);
  expect(events.filter((event) => !text.includes(`\`${event}\``))).toEqual([]);
});

test("every query of the page runs, and the query of keys reads each table with sealed values", async () => {
  const database = new DatabaseSync(":memory:");
  for (const name of (await readdir("migrations")).filter((file) => file.endsWith(".sql")).sort()) {
    database.exec(await readFile(`migrations/${name}`, "utf8"));
  }
  const queries = [...text.matchAll(/(?:--command|query) "(SELECT [^"]*)"/g)].map(
    ([, sql = ""]) => sql,
  );
  expect(queries.length).toBeGreaterThan(4);
  for (const sql of queries) expect(database.prepare(sql).all()).toEqual([]);
  const sealed = database
    .prepare(
      "SELECT name FROM sqlite_master WHERE sql LIKE '%`key_id`%' AND name <> 'oauth_authorizations'",
    )
    .all();
  const keyQuery = queries.find((sql) => sql.includes("key_id")) ?? "";
  expect(sealed.filter(({ name }) => !keyQuery.includes(`FROM ${name} `))).toEqual([]);
});
