// Runs in the form of a client's, the same for the same number, and the row that an export must hold for each.

/** JSON texts by field, as they stand on the wire. */
type RunTexts = Record<string, string>;
export type Cells = Record<string, unknown>;
type OddFeedback = { id: string; key: string; score?: number | boolean; value?: unknown };
export type OddRun = {
  id: string;
  start_us: number;
  post: RunTexts;
  /** Sent in a request before the post's, in the same, or in one after it. */
  patch: { when: "before" | "with" | "after"; texts: RunTexts } | null;
  feedback: OddFeedback[];
  /** Without `tenant_id` and `session_id`. */
  row: Cells;
};

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;
const FIRST_DAY_US = Date.UTC(2026, 1, 2) * 1000;
/** The first day is large enough for two files. */
const RUNS_OF_DAY = [34_000, 34_000, 64_000, 34_000, 34_000];
const HEAVY_DAY = 2;
const RUNS_OF_TRACE = 5;

export const RANGE = {
  from_us: FIRST_DAY_US + 2.5 * HOUR_US + 123_456,
  to_us: FIRST_DAY_US + 4 * DAY_US + 21.5 * HOUR_US + 654_321,
};
export const ODD_HOUR = {
  from_us: FIRST_DAY_US + DAY_US + HOUR_US,
  to_us: FIRST_DAY_US + DAY_US + 2 * HOUR_US,
};

export const PAYLOADS = ["inputs", "outputs", "extra", "events"] as const;
const TYPES = ["chain", "llm", "tool", "retriever", "embedding", "prompt", "parser"];
const FILLER = Array.from({ length: 900 }, (_, n) => `word${(n * 7919) % 997}`).join(" ");
const PUNCTUATION = String.fromCharCode(...Array.from({ length: 95 }, (_, n) => 32 + n));
/** The largest microsecond that a double represents exactly. */
const LAST_US = Number.MAX_SAFE_INTEGER;

const json = (value: unknown) => JSON.stringify(value);

export function isoOf(micros: number, zone = "Z"): string {
  const ms = Math.floor(micros / 1000);
  const text = new Date(ms).toISOString().slice(0, -1);
  return `${text}${String(micros - ms * 1000).padStart(3, "0")}${zone}`;
}

function segment(micros: number, id: string): string {
  return `${isoOf(micros).replaceAll(/[-:.]/g, "")}${id}`;
}

/** The tail is the run's number. */
function idOf(n: number, micros: number): string {
  const tail = n.toString(16).padStart(12, "0");
  if (n % 97 === 5) return `0a1b2c3d-4e5f-4a6b-8c7d-${tail}`;
  const ms = Math.floor((n % 211 === 7 ? micros + DAY_US : micros) / 1000);
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7abc-9def-${tail}`;
}

export function numberOf(id: unknown): number {
  return Number.parseInt(String(id).slice(-12), 16);
}

const plainCount = RUNS_OF_DAY.reduce((sum, count) => sum + count, 0);

function startOf(n: number): number {
  let [day, k] = [0, n];
  while (k >= (RUNS_OF_DAY[day] ?? 0)) k -= RUNS_OF_DAY[day++] ?? 0;
  const step = Math.floor((18 * HOUR_US) / (RUNS_OF_DAY[day] ?? 1));
  return FIRST_DAY_US + day * DAY_US + 3 * HOUR_US + k * step + ((k * 7919) % 100_000);
}

const isHeavy = (micros: number) => Math.floor((micros - FIRST_DAY_US) / DAY_US) === HEAVY_DAY;

type Piece = { texts: RunTexts; row: Cells };

const nothing = (name: string): Piece => ({ texts: {}, row: { [name]: null } });
const naught = (name: string): Piece => ({ texts: { [name]: "null" }, row: { [name]: null } });
const payload = (name: string, text: string): Piece => ({
  texts: { [name]: text },
  row: { [name]: text },
});

function inputsOf(n: number, micros: number): Piece {
  const name = "inputs";
  if (n % 17 === 0) return nothing(name);
  if (n % 17 === 1) return naught(name);
  if (n % 17 === 2) return payload(name, "{}");
  if (n % 17 === 3) return payload(name, "[]");
  if (n % 17 === 4) return payload(name, '""');
  const at = (n * 13) % 3000;
  const text = FILLER.slice(at, at + (isHeavy(micros) ? 2600 : 60));
  return payload(name, json({ question: `What is ${n}?`, text, nested: { n, list: [n, null] } }));
}

function outputsOf(n: number): Piece {
  const name = "outputs";
  if (n % 19 === 0) return { texts: {}, row: { [name]: null, ...NO_USAGE } };
  if (n % 19 === 1) return { texts: { [name]: "null" }, row: { [name]: null, ...NO_USAGE } };
  if (n % 19 === 2) return { ...payload(name, "{}"), row: { [name]: "{}", ...NO_USAGE } };
  if (n % 4 !== 0) {
    const text = json({ answer: `é😀 "${n}"`, ok: n % 2 === 0 });
    return { texts: { [name]: text }, row: { [name]: text, ...NO_USAGE } };
  }
  const [input_tokens, output_tokens] = [n % 1000, n % 77];
  const [prompt, completion] = [n * 1_000_003, n * 17];
  const usage_metadata = {
    ...{ input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
    ...{ input_cost: micro(prompt), output_cost: micro(completion) },
  };
  const text = json({ answer: n, usage_metadata });
  const row = {
    [name]: text,
    total_tokens: BigInt(input_tokens + output_tokens),
    prompt_tokens: BigInt(input_tokens),
    completion_tokens: BigInt(output_tokens),
    prompt_cost: Number(micro(prompt)),
    completion_cost: Number(micro(completion)),
    total_cost: Number(micro(prompt + completion)),
  };
  return { texts: { [name]: text }, row };
}

/** Decimals of twelve places from a whole number of them. */
function micro(trillionths: number): string {
  const digits = String(trillionths).padStart(13, "0");
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`;
}

const NO_USAGE = {
  ...{ total_tokens: null, prompt_tokens: null, completion_tokens: null },
  ...{ total_cost: null, prompt_cost: null, completion_cost: null },
};

function eventsOf(n: number, micros: number): Piece {
  const none = { first_token_time: null };
  if (n % 5 === 1) return { texts: {}, row: { events: null, ...none } };
  if (n % 5 !== 2) return { texts: { events: "[]" }, row: { events: "[]", ...none } };
  const time = isoOf(micros + 123, n % 2 === 0 ? "Z" : "+00:00");
  const text = json([{ name: "start" }, { name: "new_token", time }]);
  return { texts: { events: text }, row: { events: text, first_token_time: BigInt(micros + 123) } };
}

function extraOf(n: number): Piece {
  if (n % 7 === 0) return nothing("extra");
  return payload("extra", json(plainExtra(n)));
}

const plainExtra = (n: number) => ({
  metadata: { user: `u${n % 1000}`, n },
  runtime: { sdk: "odd", version: 1.5 },
});

function tagsOf(n: number): Piece {
  if (n % 6 === 0) return nothing("tags");
  if (n % 6 === 1) return naught("tags");
  const tags = [[], ["a"], ["", `t${n % 10}`, "é😀"], ['"', "\\", "a,b"]][(n % 6) - 2] ?? [];
  return { texts: { tags: json(tags) }, row: { tags } };
}

function errorOf(n: number): Piece {
  if (n % 23 === 1) return { texts: { error: '""' }, row: { error: null } };
  if (n % 23 === 2) return { texts: { error: json({ n }) }, row: { error: json({ n }) } };
  if (n % 23 !== 0) return nothing("error");
  const error = `Error ${n}: "quoted"\n\tat 'here' \\`;
  return { texts: { error: json(error) }, row: { error } };
}

function endOf(n: number, micros: number): Piece {
  if (n % 31 === 0) return nothing("end_time");
  const end_us = micros + (n % 5000) * 1001 + 1;
  return { texts: { end_time: json(isoOf(end_us)) }, row: { end_time: BigInt(end_us) } };
}

function namesOf(n: number): Piece {
  const name = n % 11 === 0 ? `名前 😀 ${n % 50}` : `step ${n % 100}`;
  const run_type = TYPES[n % TYPES.length] ?? "";
  const reference = n % 10 === 0 ? `5eed0000-0000-4000-8000-${idTail(n)}` : null;
  const trace_tier = [null, "longlived", "shortlived"][n % 3] ?? null;
  return {
    texts: {
      ...{ name: json(name), run_type: json(run_type) },
      ...(reference === null ? {} : { reference_example_id: json(reference) }),
      ...(trace_tier === null ? {} : { trace_tier: json(trace_tier) }),
    },
    row: {
      ...{ name, run_type, reference_example_id: reference },
      trace_tier: isExtended(n) ? "longlived" : (trace_tier ?? "longlived"),
    },
  };
}

const hasFeedback = (n: number) => n < plainCount && n % 1000 === 9;

/** Feedback extends the retention of all runs of the trace. */
function isExtended(n: number): boolean {
  const root = n - (n % RUNS_OF_TRACE);
  return Array.from({ length: RUNS_OF_TRACE }, (_, k) => root + k).some(hasFeedback);
}

const idTail = (n: number) => n.toString(16).padStart(12, "0");

/** Each run is the child of the one before it in the trace. */
function lineageOf(n: number): Piece {
  const root = n - (n % RUNS_OF_TRACE);
  const path = Array.from({ length: (n % RUNS_OF_TRACE) + 1 }, (_, k) => root + k);
  const ids = path.map((k) => idOf(k, startOf(k)));
  const dotted_order = path.map((k, at) => segment(startOf(k), ids[at] ?? "")).join(".");
  const [id = "", trace_id = "", parent] = [ids.at(-1), ids[0], ids.at(-2)];
  const isBare = n % 53 === 1;
  return {
    texts: {
      ...{ id: json(id), trace_id: json(trace_id) },
      ...(parent === undefined ? {} : { parent_run_id: json(parent) }),
      ...(isBare ? {} : { dotted_order: json(dotted_order) }),
    },
    row: {
      ...{ id, trace_id, parent_run_id: parent ?? null, is_root: parent === undefined },
      dotted_order: isBare && parent !== undefined ? null : dotted_order,
      parent_run_ids: isBare ? ids.slice(0, -1).slice(-1) : ids.slice(0, -1),
    },
  };
}

function startPiece(n: number, micros: number): Piece {
  const text = n % 3 === 0 ? isoOf(micros, "+00:00") : isoOf(micros);
  return { texts: { start_time: json(text) }, row: { start_time: BigInt(micros) } };
}

function feedbackOf(n: number): Pick<OddRun, "feedback"> & Piece {
  const none = { feedback: [], texts: {}, row: { feedback_stats: null } };
  if (!hasFeedback(n)) return none;
  const id = (k: number) => `feed000${k}-0000-4000-8000-${idTail(n)}`;
  const feedback = [
    { id: id(1), key: "correct", score: n % 2 },
    { id: id(2), key: "correct", score: 0.5 },
    { id: id(3), key: "note", value: `say "${n}"` },
    { id: id(4), key: "note", value: "é" },
    { id: id(5), key: "note", value: "é" },
    { id: id(6), key: "rank", value: 5, score: 5 },
    { id: id(7), key: "thumb", score: true },
  ];
  const stats = {
    correct: { n: 2, avg: ((n % 2) + 0.5) / 2, values: {} },
    note: { n: 3, avg: null, values: { [`say "${n}"`]: 1, é: 2 } },
    rank: { n: 1, avg: 5, values: {} },
    thumb: { n: 1, avg: 1, values: {} },
  };
  return { feedback, texts: {}, row: { feedback_stats: json(stats) } };
}

function plainRun(n: number): OddRun {
  const start_us = startOf(n);
  const { feedback, ...stats } = feedbackOf(n);
  const pieces = [lineageOf(n), startPiece(n, start_us), namesOf(n), inputsOf(n, start_us)];
  const post = join([...pieces, eventsOf(n, start_us), extraOf(n)]);
  const later = join([outputsOf(n), endOf(n, start_us), errorOf(n), tagsOf(n)]);
  const row = { ...post.row, ...later.row, ...stats.row };
  const run = { id: idOf(n, start_us), start_us, feedback };
  const when = whenPatched(n);
  if (when === null) {
    return { ...run, post: { ...post.texts, ...later.texts }, patch: null, row: withState(row) };
  }
  const { texts, extra } = patchOf(n, post.texts, when);
  const patch = { when, texts: { ...later.texts, ...texts } };
  return { ...run, post: post.texts, patch, row: withState({ ...row, extra }) };
}

function whenPatched(n: number): "before" | "with" | "after" | null {
  if (n % 13 === 3) return "with";
  if (n % 101 === 50) return "before";
  return n % 103 === 51 ? "after" : null;
}

/** A patch has outcome fields and more of extra than the post, and repeats the position of the post. */
function patchOf(n: number, { id, trace_id, dotted_order, extra }: RunTexts, patched: string) {
  const { metadata, ...rest } = plainExtra(n);
  const more = { n: -n, patched };
  const place = { id: id ?? "", trace_id: trace_id ?? "", extra: json({ metadata: more }) };
  return {
    texts: { ...place, ...(dotted_order === undefined ? {} : { dotted_order }) },
    extra:
      extra === undefined ? place.extra : json({ metadata: { ...metadata, ...more }, ...rest }),
  };
}

function join(pieces: readonly Piece[]): Piece {
  return {
    texts: Object.assign({}, ...pieces.map(({ texts }) => texts)),
    row: Object.assign({}, ...pieces.map(({ row }) => row)),
  };
}

function withState(row: Cells): Cells {
  const status = row.error !== null ? "error" : row.end_time !== null ? "success" : "pending";
  return { ...row, status };
}

type Odd = { start_us?: number; piece?: Piece; feedback?: OddFeedback[]; patch?: OddRun["patch"] };

const text = (field: string, value: string): Piece => ({
  texts: { [field]: json(value) },
  row: { [field]: value.toWellFormed() },
});
const outputs = (value: string, row: Cells): Piece => ({
  texts: { outputs: value },
  row: { ...NO_USAGE, outputs: value, ...row },
});
const usage = (usage_metadata: Cells, row: Cells) => outputs(json({ usage_metadata }), row);

const NUMBERS =
  '{"twenty":12345678901234567890,"minus":-98765432109876543210,"long":0.1234567890123456789,"small":-7}';
const MAX = Number.MAX_SAFE_INTEGER;

const TEXTS = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\u0001\u001f\u007f\u2028\u2029",
  "😀👩‍👩‍👧‍👦 é 漢字 \u202e rtl",
  "\ud800",
  "x\udfffy\ud83d",
  PUNCTUATION,
  "null",
  "NaN",
  "-1",
  "'; DROP TABLE runs; --",
  "/slashes/and\\back",
];

const odds: Odd[] = [
  ...TEXTS.map((value) => ({ piece: text("name", value) })),
  ...TEXTS.filter((value) => value !== "").map((value) => ({ piece: text("error", value) })),
  ...TEXTS.map((value) => ({
    piece: { texts: { tags: json([value, "b"]) }, row: { tags: [value.toWellFormed(), "b"] } },
  })),
  ...TEXTS.flatMap((value) => PAYLOADS.map((name) => ({ value, name }))).map(({ value, name }) => ({
    piece: payloadPiece(name, json(name === "events" ? [{ name: value }] : { [value]: value })),
  })),
  { piece: text("name", "n".repeat(1000)) },
  { piece: text("error", "漢".repeat(100_000)) },
  { piece: { texts: { tags: "[]" }, row: { tags: [] } } },
  { piece: { texts: { tags: json(manyTags()) }, row: { tags: manyTags() } } },
  ...PAYLOADS.map((name) => ({
    piece: payloadPiece(name, name === "events" ? `[${NUMBERS}]` : NUMBERS),
  })),
  ...["0", "-0.5", "false", '"text"', "[]", "[null]", '{"__proto__":{"a":1},"constructor":2}'].map(
    (value) => ({ piece: payloadPiece("inputs", value) }),
  ),
  ...[249_980, 249_990, 250_000, 1_000_000].map((chars) => ({
    piece: payloadPiece("inputs", json({ t: "x".repeat(chars - 8) })),
  })),
  ...[249_999, 250_001].map((chars) => ({
    piece: payloadPiece("outputs", json({ t: "y".repeat(chars - 8) })),
  })),
  { piece: payloadPiece("outputs", json({ t: "é😀".repeat(90_000) })) },
  { piece: payloadPiece("extra", json({ metadata: { t: "漢".repeat(350_000) } })) },
  { piece: payloadPiece("events", json([{ name: "x".repeat(1_000_000) }])) },
  {
    piece: join([
      payloadPiece("inputs", json({ t: "i".repeat(1_100_000) })),
      payloadPiece("outputs", json({ t: "o".repeat(1_200_000) })),
    ]),
  },
  {
    piece: usage(
      { input_tokens: 0, output_tokens: MAX, total_tokens: MAX },
      { prompt_tokens: 0n, completion_tokens: BigInt(MAX), total_tokens: BigInt(MAX) },
    ),
  },
  {
    piece: usage(
      { input_tokens: 2, output_tokens: MAX },
      { prompt_tokens: 2n, completion_tokens: BigInt(MAX), total_tokens: null },
    ),
  },
  {
    piece: usage(
      { input_tokens: -1, output_tokens: 1.5, total_tokens: 7 },
      { prompt_tokens: null, completion_tokens: null, total_tokens: 7n },
    ),
  },
  {
    piece: usage(
      { input_cost: 1e-12, output_cost: "0.000000000002" },
      { prompt_cost: 1e-12, completion_cost: 2e-12, total_cost: 3e-12 },
    ),
  },
  {
    piece: usage(
      { input_cost: "0.1", output_cost: "0.2" },
      { prompt_cost: 0.1, completion_cost: 0.2, total_cost: 0.3 },
    ),
  },
  {
    piece: usage(
      {
        input_cost: "123456789.123456789012",
        output_cost: 0,
        total_cost: "123456789.123456789013",
      },
      {
        prompt_cost: 123456789.12345679,
        completion_cost: 0,
        total_cost: 123456789.12345679,
      },
    ),
  },
  ...[
    isoOf(LAST_US),
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999999Z",
    "2026-02-03T06:31:00.000001+05:30",
    "2026-02-03 01:01:00.25",
  ].map((end, at) => ({
    piece: {
      texts: { end_time: json(end) },
      row: {
        end_time: [
          BigInt(LAST_US),
          -62_135_596_800_000_000n,
          -1n,
          BigInt(ODD_HOUR.from_us + 60_000_001),
          BigInt(ODD_HOUR.from_us + 60_250_000),
        ][at],
      },
    },
  })),
  {
    piece: {
      texts: { end_time: String(ODD_HOUR.from_us / 1000 + 5) },
      row: { end_time: BigInt(ODD_HOUR.from_us + 5000) },
    },
  },
  { feedback: [{ id: "feedface-0000-4000-8000-000000000001", key: "a", value: "" }] },
  ...boundaries(RANGE),
  ...boundaries(ODD_HOUR),
  ...[1, 2, 3, 4].flatMap((day) => around(FIRST_DAY_US + day * DAY_US)),
  // Its start moves to another day than the one it is kept on.
  { start_us: ODD_HOUR.from_us + 2 * DAY_US, patch: { when: "after", texts: {} } },
];

function payloadPiece(name: string, value: string): Piece {
  // JSON writes an escape for half a pair alone.
  const shown = value.replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, "\\ufffd");
  if (name === "outputs") return outputs(value, { outputs: shown });
  const more = name === "events" ? { first_token_time: null } : {};
  return { texts: { [name]: value }, row: { [name]: shown, ...more } };
}

function manyTags(): string[] {
  return Array.from({ length: 100 }, (_, n) => `${"漢".repeat(200)}${n}`);
}

function around(micros: number): Odd[] {
  return [-1, 0, 1].map((by) => ({ start_us: micros + by }));
}

function boundaries({ from_us, to_us }: { from_us: number; to_us: number }): Odd[] {
  return [...around(from_us), ...around(to_us)];
}

const DEEP = 60;
export const RUN_COUNT = plainCount + odds.length + DEEP;

export function runAt(n: number): OddRun {
  const run = sentRun(n);
  const row = { ...run.row };
  for (const names of [TOKENS, COSTS]) {
    if (names.some((name) => row[name] !== null)) continue;
    const counted = below(n, row).filter(({ k, cells }) => isCounted(k, cells));
    for (const name of names) row[name] = sum(counted.map(({ cells }) => cells[name]));
  }
  return { ...run, row };
}

const TOKENS = ["total_tokens", "prompt_tokens", "completion_tokens"];
const COSTS = ["total_cost", "prompt_cost", "completion_cost"];

type Below = { k: number; cells: Cells };

/** The runs below a run in its trace, which is a chain. */
function below(n: number, { dotted_order }: Cells): Below[] {
  if (dotted_order === null || isElsewhere(n)) return [];
  const isPlain = n < plainCount;
  if (!isPlain && n < plainCount + odds.length) return [];
  const end = isPlain ? n - (n % RUNS_OF_TRACE) + RUNS_OF_TRACE : RUN_COUNT;
  return Array.from({ length: end - n - 1 }, (_, at) => n + 1 + at)
    .map((k) => ({ k, cells: sentRun(k).row }))
    .filter(({ cells }) => cells.dotted_order !== null);
}

/** A patch that names no time stores the run on the day of its id, apart from the runs below it. */
function isElsewhere(n: number): boolean {
  return n % 211 === 7 && n % 53 === 1 && whenPatched(n) === "before";
}

const hasUsage = ({ total_tokens, total_cost }: Cells) =>
  total_tokens !== null || total_cost !== null;

/** A model's call counts, and another run that has no model's call below it. */
function isCounted(k: number, cells: Cells): boolean {
  const isModel = (run: Cells) => run.run_type === "llm" && hasUsage(run);
  return hasUsage(cells) && (isModel(cells) || !below(k, cells).some((one) => isModel(one.cells)));
}

/** Sums in trillionths, which doubles of these costs represent exactly. */
function sum(values: unknown[]): bigint | number | null {
  const found = values.filter((value) => value !== null);
  if (found.length === 0) return null;
  if (typeof found[0] === "bigint") return found.reduce((a: bigint, b) => a + (b as bigint), 0n);
  return Number(micro(found.reduce((a: number, b) => a + Math.round(Number(b) * 1e12), 0)));
}

const recent = new Map<number, OddRun>();
/** A trace, and the ones around it. */
const MAX_RECENT = 256;

/** A run as it is sent; its row lacks the usage of the runs below it. */
export function sentRun(n: number): OddRun {
  const known = recent.get(n);
  if (known) return known;
  if (recent.size >= MAX_RECENT) recent.clear();
  const run = makeRun(n);
  recent.set(n, run);
  return run;
}

function makeRun(n: number): OddRun {
  if (n < plainCount) return plainRun(n);
  const at = n - plainCount;
  const odd = odds[at];
  return odd === undefined ? deepRun(n, at - odds.length) : oddRun(n, at, odd);
}

function oddRun(n: number, at: number, odd: Odd): OddRun {
  const posted_us = ODD_HOUR.from_us + 1000 + at * 10_000_000;
  const start_us = odd.start_us ?? posted_us;
  const isMoved = odd.patch !== undefined;
  const first_us = isMoved ? posted_us : start_us;
  const id = idOf(n, first_us);
  const dotted_order = segment(first_us, id);
  const lineage = {
    texts: { id: json(id), trace_id: json(id), dotted_order: json(dotted_order) },
    row: {
      ...{ id, trace_id: id, parent_run_id: null, parent_run_ids: [], is_root: true },
      ...{ dotted_order, start_time: BigInt(start_us) },
    },
  };
  const parts = [
    ...[namesOf(n), inputsOf(n, 0), outputsOf(n), eventsOf(n, start_us), extraOf(n)],
    ...[tagsOf(n), nothing("error"), endOf(n, start_us), lineage],
    ...(odd.piece ? [odd.piece] : []),
  ];
  const { texts, row } = join(parts);
  const start_time = json(isoOf(start_us));
  const patch = isMoved
    ? { when: "after" as const, texts: { id: json(id), trace_id: json(id), start_time } }
    : null;
  const feedback = odd.feedback ?? [];
  const stats = odd.feedback ? json({ a: { n: 1, avg: null, values: { "": 1 } } }) : null;
  return {
    ...{ id, start_us, patch, feedback },
    post: { ...texts, start_time: json(isoOf(first_us)) },
    row: withState({ ...row, feedback_stats: stats }),
  };
}

/** A chain, each the child of all before it, and its ids in capitals here and there. */
function deepRun(n: number, depth: number): OddRun {
  const first = n - depth;
  const startAt = (k: number) => ODD_HOUR.to_us - 60_000_000 + k;
  const ids = Array.from({ length: depth + 1 }, (_, k) => idOf(first + k, startAt(k)));
  const wire = (id: string, k: number) => (k % 2 === 0 ? id : id.toUpperCase());
  const dotted_order = ids.map((id, k) => segment(startAt(k), wire(id, k))).join(".");
  const [id = "", trace_id = "", parent] = [ids.at(-1), ids[0], ids.at(-2)];
  const start_us = startAt(depth);
  const parts = [namesOf(n), inputsOf(n, 0), outputsOf(n), eventsOf(n, start_us), extraOf(n)];
  const { texts, row } = join([...parts, tagsOf(n), nothing("error"), endOf(n, start_us)]);
  return {
    ...{ id, start_us, patch: null, feedback: [] },
    post: {
      ...texts,
      ...{ id: json(wire(id, depth)), trace_id: json(trace_id), dotted_order: json(dotted_order) },
      ...{ start_time: json(isoOf(start_us)) },
    },
    row: withState({
      ...row,
      ...{ id, trace_id, parent_run_id: parent ?? null, is_root: parent === undefined },
      ...{ parent_run_ids: ids.slice(0, -1), dotted_order, start_time: BigInt(start_us) },
      feedback_stats: null,
    }),
  };
}
