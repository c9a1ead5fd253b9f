import { compileKey, compileLeaf, compilePairs, type PairMember, toPairMember } from "./pairs.ts";
import {
  exists,
  type Fragment,
  fragment,
  join,
  negate,
  type Param,
  predicate,
} from "./predicate.ts";
import type { Filter, PairKind } from "./tree.ts";

type ProjectScope = { session_id: string };
export type CompiledFilter = { sql: string; params: Param[] };

/** Compiles to a condition on alias `r` of `runs` in one project's partition. */
export function compileFilter(filter: Filter, project: ProjectScope): CompiledFilter {
  const { sql, params } = compile(filter, project);
  return { sql, params };
}

function compile(filter: Filter, project: ProjectScope): Fragment {
  switch (filter.kind) {
    case "and":
      return compileAnd(filter.filters, project);
    case "or":
      return join(
        "OR",
        filter.filters.map((inner) => compile(inner, project)),
      );
    case "not":
      return negate(compile(filter.filter, project));
    case "column":
      return predicate(filter.sql, filter.condition);
    case "tag":
      return exists(
        "json_each(r.tags) t",
        "r.tags IS NOT NULL",
        predicate("t.value", filter.condition),
      );
    case "pair":
      return compilePairs(filter.of, [filter]);
    case "contains":
      return join(
        "AND",
        filter.leaves.map((leaf) => compileLeaf(filter.of, leaf)),
      );
    case "key":
      return compileKey(filter.of, filter.key);
    case "project":
      return fragment(
        filter.ids.includes(project.session_id.toLowerCase()) === filter.is ? "1" : "0",
      );
    case "cursor":
      return compileCursor(filter);
    case "words":
      return join("AND", filter.words.map(compileWord));
  }
}

function compileAnd(filters: Filter[], project: ProjectScope): Fragment {
  const groups = new Map<PairKind, PairMember[]>();
  const fragments: Fragment[] = [];
  for (const filter of filters) {
    const member = toPairMember(filter);
    if (member === null) fragments.push(compile(filter, project));
    else groups.set(member.of, [...(groups.get(member.of) ?? []), member]);
  }
  for (const [of, members] of groups) fragments.push(compilePairs(of, members));
  return join("AND", fragments);
}

function compileCursor({ op, start_us, id }: Extract<Filter, { kind: "cursor" }>): Fragment {
  if (id === null) return predicate("r.start_us", { op, operand: start_us });
  const operator = { eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" }[op];
  return fragment(`((r.start_us, r.id) ${operator} (?, ?))`, start_us, id);
}

function compileWord(word: string): Fragment {
  return fragment("ifnull(instr(r.search_text, ?) > 0, 0)", word);
}
