import { describe, expect, test } from "vitest";
import {
  type ApiPath,
  apiPath,
  assertRead,
  assertSamePath,
  parseApiUrl,
  under,
} from "../../src/console/api/path.ts";
import { requireAgent, requireIds } from "../../src/console/routes/ids.ts";
import { agentPath, threadPath } from "../../src/console/runs/stream/agent.ts";
import { idParam, isId } from "../../src/console/state/search.ts";

const ORIGIN = "https://heddle.test";
const ID = "01a217a3-6601-70b8-8691-976295be5f3f";
const ADDRESSES = 20_000;

/** Pieces of addresses that parsers of URLs read in different ways. */
const PIECES = [
  ...[
    "..",
    ".",
    "/",
    "\\",
    "%2f",
    "%2F",
    "%5c",
    "%2e",
    "%252e",
    "?",
    "#",
    ";",
    ":",
    "@",
    "//",
    " ",
    "",
  ],
  ...["\t", "\n", "\0", "\u202e", "\ud800", "é", "．", "／", "javascript:", "//evil.example", "x"],
  ...["api", "v1", "api-key", "rotate", "revisions", ID, ID.toUpperCase(), "null", "undefined"],
];

/** mulberry32, so that each run tries the same addresses. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function hostileTexts(count: number): string[] {
  const next = random(26);
  const piece = () => PIECES[Math.floor(next() * PIECES.length)] ?? "";
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + Math.floor(next() * 6) }, piece).join(""),
  );
}

const FAMILIES: [string, (value: string) => ApiPath][] = [
  ["/v2/deployments/", (value) => apiPath`/v2/deployments/${value}`],
  ["/agents/", (value) => agentPath(value)`/assistants/search`],
  [`/agents/${ID}/threads/`, (value) => threadPath(ID, value)`/state`],
  ["/api/v1/runs/", (value) => apiPath`/api/v1/runs/${value}/share`],
  ["/api/v1/api-key/", (value) => under(apiPath`/api/v1/api-key`)`/${value}/rotate`],
];

describe("a path of the API", () => {
  test("stays in its family, whatever a value is", () => {
    for (const text of hostileTexts(ADDRESSES)) {
      for (const [family, build] of FAMILIES) {
        const path = tryTo(() => build(text));
        if (path === null) continue;
        const url = new URL(path, ORIGIN);
        expect([url.origin, url.pathname, url.search, url.hash]).toEqual([ORIGIN, path, "", ""]);
        expect(path.startsWith(family)).toBe(true);
        expect(path.split("/")).toHaveLength(build(ID).split("/").length);
      }
    }
  });

  test.each(["", ".", ".."])("has no part %j", (value) => {
    expect(() => apiPath`/v2/deployments/${value}`).toThrow("Path part refused");
  });

  test("keeps the revision of an agent readable", () => {
    expect(agentPath(`${ID}@${ID}`)`/runs`).toBe(`/agents/${ID}@${ID}/runs`);
  });

  test.each([
    "/a/../b",
    "//evil.example/a",
    "/a\\..\\b",
    "https://evil.example/",
    "/a?b",
    "/a/%2e%2e",
  ])("that a URL parser changes is refused: %s", (path) => {
    expect(() => assertSamePath(path, path, ORIGIN)).toThrow("is not canonical");
  });

  test("is read from a URL of an answer, with its query", () => {
    expect(parseApiUrl(`${ORIGIN}/files/a?signature=b&expires=1`, ORIGIN)).toEqual({
      path: "/files/a",
      query: { signature: "b", expires: "1" },
    });
    for (const url of ["https://evil.example/files/a", `${ORIGIN}/files/../v1/me`]) {
      expect(() => parseApiUrl(url, ORIGIN)).toThrow("is not canonical");
    }
  });
});

test("a POST that may change something is not sent as a read", () => {
  for (const path of [apiPath`/api/v1/api-key/${ID}/rotate`, apiPath`/v2/deployments`]) {
    expect(() => assertRead(path)).toThrow("may change something");
  }
});

test("a route opens for ids alone", () => {
  for (const text of hostileTexts(ADDRESSES)) {
    expect(tryTo(() => requireIds(ID, text) ?? true)).toBe(isId(text) ? true : null);
    const isAgent = text.split("@").length < 3 && text.split("@").every(isId);
    expect(tryTo(() => requireAgent(text) ?? true)).toBe(isAgent ? true : null);
  }
  expect(tryTo(() => requireAgent(`${ID}@${ID}`) ?? true)).toBe(true);
});

test("an id of a search that is none is ignored", () => {
  for (const text of hostileTexts(1000)) {
    const id = idParam({ revision: text }, "revision");
    expect(id === undefined || isId(id)).toBe(true);
  }
});

function tryTo<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
