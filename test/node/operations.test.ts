// The operator's guides: they must name what the configuration needs and the code logs.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { ENVIRONMENTS, REGIONS } from "../../scripts/regions.ts";

const run = promisify(execFile);
const guides = ["operate", "operate-regions"].map((name) => `docs/guides/${name}.md`);
const text = (await Promise.all(guides.map((path) => readFile(path, "utf8")))).join("\n");

test.each(ENVIRONMENTS)("every store of %s is created, and pinned to it", async (env) => {
  const { d1_databases, r2_buckets, queues } = readConfig({ config: "wrangler.toml", env });
  const pinned = REGIONS.some((region) => region === env) ? ` --jurisdiction ${env}` : "";
  const consumed: { queue: string; dead_letter_queue: string }[] = queues.consumers;
  const retention = " --message-retention-period-secs 1209600";
  const wanted = [
    `d1 create ${d1_databases[0].database_name}${pinned} --update-config=false`,
    `r2 bucket create ${r2_buckets[0].bucket_name}${pinned} --update-config=false`,
    ...consumed.map(({ queue }) => `queues create ${queue}${pinned}`),
    ...consumed.map((each) => `queues create ${each.dead_letter_queue}${pinned}${retention}`),
  ];
  const { stdout } = await run(process.execPath, ["scripts/deploy.ts", "--env", env, "--print"]);
  const commands = stdout
    .split("\n")
    .filter((line) => line.includes(" create ") && line.startsWith("npx"));
  expect(commands).toEqual(wanted.map((command) => `npx wrangler ${command}`));
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
