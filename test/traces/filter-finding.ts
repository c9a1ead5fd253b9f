import { env } from "cloudflare:workers";
import { findCandidates } from "../../src/traces/filter/candidates.ts";
import { type CompiledFilter, compileFilter } from "../../src/traces/filter/compile.ts";
import { parseFilter } from "../../src/traces/filter/parse.ts";

/** Returns the runs that a filter finds by scan and by index. */
export async function findBothWays(text: string, session_id: string) {
  const filter = parseFilter(text);
  const condition = compileFilter(filter, { session_id });
  const candidates = findCandidates(filter);
  const all = await find(condition);
  if (candidates.length === 0) return { all, named: all };
  const named = await find({
    sql: [condition.sql, ...candidates.map(({ sql }) => `r.row IN (${sql})`)].join(" AND "),
    params: [condition, ...candidates].flatMap(({ params }) => params),
  });
  return { all, named };
}

async function find({ sql, params }: CompiledFilter): Promise<string[]> {
  const { results } = await env.DB.prepare(`SELECT r.id FROM runs r WHERE ${sql} ORDER BY r.row`)
    .bind(...params)
    .all<{ id: string }>();
  return results.map(({ id }) => id);
}
