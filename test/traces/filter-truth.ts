import { type TestRun, testRun } from "./filter-runs.ts";

const LONG = "a name that is much longer than the fifty bytes that a pattern of SQLite may have";
const TREE = "0190a1b2-c3d4-7ef0-a5b6-6ea3a82e9328";
const USER = "4070f233-f61e-44eb-bff1-da3c163895a3";
const TALK = "a1b2c3d4-e5f6-7890";
const START = "2024-06-01T10:00:00Z";

const score = (key: string, score: number | null) => ({ key, score });
const lasting = (seconds: number) => ({ end: Date.parse(START) * 1000 + seconds * 1_000_000 });

/** Each run matches one of the filters, or nearly does. */
export const RUNS: TestRun[] = [
  testRun("r01", { name: "extractor", execution_order: 3 }),
  testRun("r02", { name: "Extractor", start: "2025-06-11T16:24:35.433001Z" }),
  testRun("r03", { name: "extractor2", start: "2025-06-11T16:24:35.433Z" }),
  testRun("r04", { feedback: [score("star_rating", 5)] }),
  testRun("r05", { feedback: [score("star_rating", 4)] }),
  testRun("r06", { feedback: [score("star_rating", 3), score("other", 5)] }),
  testRun("r07", { feedback: [score("star_rating", null)] }),
  testRun("r08", { total_tokens: 5001 }),
  testRun("r09", { total_tokens: 5000 }),
  testRun("r10", { start: "2023-07-15T12:34:56Z" }),
  testRun("r11", { start: "2023-07-15T12:34:56.000001Z" }),
  testRun("r12", { start: "2023-07-15T12:34:55Z", metadata: { user_tier: "premium" } }),
  testRun("r13", { tags: ["2aa1cf4"], metadata: { user_tier: "free", plan: "premium" } }),
  testRun("r14", { tags: ["2aa1cf4x"] }),
  testRun("r15", { tags: ["2AA1CF4"] }),
  testRun("r16", { error: "boom" }),
  testRun("r17", { feedback: [score("Correctness", 0)] }),
  testRun("r18", { feedback: [score("Correctness", 1), score("Other", 0)] }),
  testRun("r19", { error: "late", start: "2023-07-15T12:34:56Z" }),
  testRun("r20", { inputs: { q: "Image classification of cats" } }),
  testRun("r21", { outputs: { a: "classification, then an image" } }),
  testRun("r22", { inputs: { q: "image" } }),
  testRun("r23", { inputs: { q: "misclassifications of imagery" } }),
  testRun("r24", { metadata: { user_id: USER } }),
  testRun("r25", { metadata: { user_id: "other", copy: USER } }),
  testRun("r26", { metadata: { conversation_id: TALK } }),
  testRun("r27", { metadata: { conversation_id: "zzz" } }),
  testRun("r28", { metadata: { conversation_id: "zzz", ref: TALK } }),
  testRun("r29", { metadata: { ref: TALK } }),
  testRun("r30", { metadata: { conversation_id: [TALK, "zzz"] } }),
  testRun("r31", { name: "RetrieveDocs" }),
  testRun("r32", { is_root: true, feedback: [score("user_score", 1)] }),
  testRun("r33", { feedback: [score("user_score", 1)] }),
  testRun("r34", { is_root: true, feedback: [score("user_score", 0)] }),
  testRun("r35", { is_root: true, feedback: [score("user_score", 0), score("other", 1)] }),
  testRun("r36", { run_type: "llm", ...lasting(5.000001) }),
  testRun("r37", { run_type: "llm", ...lasting(5) }),
  testRun("r38", { error: "slow Boom", ...lasting(6) }),
  testRun("r39", { run_type: "llm", end: null }),
  testRun("r40", { name: "my_tool", run_type: "tool" }),
  testRun("r41", { is_root: true, metadata: { model: "gpt-4" } }),
  testRun("r42", { metadata: { model: "gpt-4" } }),
  testRun("r43", { is_root: true, metadata: { model: "gpt-4o", fallback: "gpt-4" } }),
  testRun("r44", {
    trace_id: TREE,
    outputs: {
      documents: [
        { page_content: "Paris is nice" },
        { page_content: "The capital of France is Paris" },
      ],
    },
  }),
  testRun("r45", {
    trace_id: TREE,
    outputs: { documents: { title: "The capital of France is Paris", page_content: "no" } },
  }),
  testRun("r46", { thread_id: 'a "quoted" id' }),
  testRun("r47", { thread_id: "a quoted id" }),
  testRun("r48", { metadata: { test_run: "abc123" }, tags: ["100%"] }),
  testRun("497f6eca-6276-4993-bfeb-53cbbbba6f08", { name: LONG }),
  testRun("r50", { name: "ChatOpenAI", tags: ["prod"], ...lasting(2.5) }),
  testRun("r51", { name: "my chatopenai model", tags: ["prod"], ...lasting(2.499999) }),
  testRun("r52", {
    name: "AzureChatOpenAI",
    tags: ["production"],
    feedback: [score("any", 1)],
    ...lasting(10),
  }),
  testRun("r53", {
    metadata: { env: "prod", retries: 3 },
    tags: ["production"],
    feedback: [score("any", 0.5)],
  }),
  testRun("r54", {
    metadata: { user_id: "u_123", retries: "3", nested: { flag: true } },
    feedback: [{ key: "prompt_intent", score: null, value: "x", source: "api" }],
  }),
  testRun("r55", {
    name: "generate_movie_search",
    is_root: true,
    feedback: [{ key: "prompt_intent", score: null, value: "y", source: "app" }],
  }),
  testRun("r56", { name: "ChatAnthropic", total_cost: "0.10" }),
  testRun("r57", { total_cost: "0.1000000001" }),
  testRun("r58", { start: "2024-01-01T00:00:00.000001Z", end: "2024-01-01T23:59:59.999999Z" }),
  testRun("r59", { start: "2024-01-01T00:00:00Z", end: "2024-01-01T12:00:00Z" }),
  testRun("r60", { start: "2024-01-01T12:00:00Z", end: "2024-01-02T00:00:00Z" }),
];

export const PROJECT = "source-project-123";
const NAMED = "497f6eca-6276-4993-bfeb-53cbbbba6f08";

const only = (ids = "") => ids.split(" ").filter((id) => id !== "");
const allBut = (ids: string) => {
  const out = new Set(only(ids));
  return RUNS.map(({ id }) => id).filter((id) => !out.has(id));
};

export type Truth = { filter: string; ids: string[] };

/** Filters of published clients and pages. */
export const PUBLISHED: Truth[] = [
  { filter: `eq(name, "extractor")`, ids: only("r01") },
  { filter: `and(eq(feedback_key, "star_rating"), gt(feedback_score, 4))`, ids: only("r04") },
  { filter: `gt(total_tokens, 5000)`, ids: only("r08") },
  { filter: `gt(start_time, "2023-07-15T12:34:56Z")`, ids: allBut("r10 r12 r19") },
  { filter: `has(tags, "2aa1cf4")`, ids: only("r13") },
  {
    filter: `and(gt(start_time, "2023-07-15T12:34:56Z"), or(neq(error, null), and(eq(feedback_key, "Correctness"), eq(feedback_score, 0.0))))`,
    ids: only("r16 r17 r38"),
  },
  { filter: `search("image classification")`, ids: only("r20 r21 r23") },
  {
    filter: `and(eq(metadata_key, 'user_id'), eq(metadata_value, '${USER}'))`,
    ids: only("r24"),
  },
  {
    filter: `and(eq(metadata_key, 'conversation_id'), eq(metadata_value, '${TALK}'))`,
    ids: only("r26 r30"),
  },
  {
    filter: `and(eq(metadata_key, 'conversation_id'), neq(metadata_value, '${TALK}'))`,
    ids: only("r27 r28 r30"),
  },
  {
    filter: `and(neq(metadata_key, 'conversation_id'), eq(metadata_value, '${TALK}'))`,
    ids: only("r29"),
  },
  { filter: `eq(name, "RetrieveDocs")`, ids: only("r31") },
  { filter: `eq(feedback_key, "user_score")`, ids: only("r32 r33 r34 r35") },
  {
    filter: `and(eq(is_root, true), and(eq(feedback_key, "user_score"), eq(feedback_score, 1)))`,
    ids: only("r32"),
  },
  { filter: `and(eq(run_type, "llm"), gt(latency, 5))`, ids: only("r36") },
  { filter: `eq(status, "success")`, ids: allBut("r16 r19 r38 r39") },
  { filter: `eq(name, "my_tool")`, ids: only("r40") },
  {
    filter: `and(eq(is_root, true), and(eq(metadata_key,'model'), eq(metadata_value,'gpt-4')))`,
    ids: only("r41"),
  },
  { filter: `eq(trace_id, "${TREE}")`, ids: only("r44 r45") },
  { filter: String.raw`eq(thread_id, "a \"quoted\" id")`, ids: only("r46") },
  { filter: `and(eq(metadata_key,'test_run'),eq(metadata_value,'abc123'))`, ids: only("r48") },
  { filter: `eq(id, "${NAMED}")`, ids: [NAMED] },
  { filter: `search(name, "ChatOpenAI")`, ids: only("r50 r51 r52") },
  { filter: `and(gte(latency, 2.5), lte(latency, 10))`, ids: only("r36 r37 r38 r50 r52") },
  {
    filter: `and(search(name, "ChatOpenAI"), gte(latency, 2.5), has(tags, "prod"))`,
    ids: only("r50"),
  },
  { filter: `and(eq(metadata_key, "env"), eq(metadata_value, "prod"))`, ids: only("r53") },
  { filter: `and(eq(metadata_key, "user_id"), eq(metadata_value, "u_123"))`, ids: only("r54") },
  { filter: `eq(name, "generate_movie_search")`, ids: only("r55") },
  { filter: `lte(feedback_score, 0.9)`, ids: only("r17 r18 r34 r35 r53") },
  { filter: `eq(name, "ChatAnthropic")`, ids: only("r56") },
  {
    filter: `and(gt(start_time, "2024-01-01T00:00:00+00:00"), lt(end_time, "2024-01-02T00:00:00+00:00"))`,
    ids: only("r58"),
  },
  {
    filter: `and(eq(session_id, "source-project-123"), eq(is_root, true))`,
    ids: only("r32 r34 r35 r41 r43 r55"),
  },
  { filter: `and(eq(is_root, true), eq(feedback_key, "prompt_intent"))`, ids: only("r55") },
  { filter: `gt(cursor, '2025-06-11 16:24:35.433000')`, ids: only("r02") },
  { filter: `and(gt(latency, "5s"), neq(error, null))`, ids: only("r38") },
  { filter: `and(has(tags, "production"), eq(feedback_score, 1))`, ids: only("r52") },
  { filter: `gt(total_cost, 0.1)`, ids: only("r57") },
  {
    filter: `and(in(metadata_key, ["user_tier"]), eq(metadata_value, "premium"))`,
    ids: only("r12"),
  },
  {
    filter: `and(eq(output_key, "documents.page_content"), eq(output_value, "The capital of France is Paris"))`,
    ids: only("r44"),
  },
];

/** Filters beyond published clients. */
export const OTHERS: Truth[] = [
  { filter: `neq(metadata_key, 'conversation_id')`, ids: allBut("r26 r27 r28 r30") },
  {
    filter: `and(neq(metadata_key, 'conversation_id'), neq(metadata_value, '${TALK}'))`,
    ids: allBut("r26 r27 r28 r29 r30"),
  },
  { filter: `neq(metadata_value, '${TALK}')`, ids: allBut("r26 r28 r29 r30") },
  {
    filter: `and(and(eq(metadata_key,"user_tier"),eq(metadata_value,"free")),and(eq(metadata_key,"plan"),eq(metadata_value,"premium")))`,
    ids: only("r13"),
  },
  {
    filter: `and(eq(metadata_key,"user_tier"),eq(metadata_value,"free"),eq(metadata_key,"plan"),eq(metadata_value,"premium"))`,
    ids: [],
  },
  {
    filter: `and(eq(metadata_key,"conversation_id"), or(eq(metadata_value,"zzz"), eq(metadata_value,"yyy")))`,
    ids: only("r27 r28 r30"),
  },
  {
    filter: `and(eq(metadata_key,"user_id"), or(eq(metadata_value,"${USER}"), eq(metadata_value,"none")))`,
    ids: only("r24"),
  },
  {
    filter: `and(eq(metadata_key,"user_id"), not(eq(metadata_value,"${USER}")))`,
    ids: only("r54"),
  },
  { filter: `not(has(tags, "prod"))`, ids: allBut("r50 r51") },
  { filter: `not(and(neq(error, null), gt(latency, "5s")))`, ids: allBut("r38") },
  { filter: `or(has(tags, "prod"), has(tags, "production"))`, ids: only("r50 r51 r52 r53") },
  { filter: `in(tags, ["prod", "none"])`, ids: only("r50 r51") },
  { filter: String.raw`like(tags, "%0\\%")`, ids: only("r48") },
  { filter: `has(metadata, '{"user_tier": "free"}')`, ids: only("r13") },
  { filter: `has(metadata, '{"user_tier": "free", "plan": "premium"}')`, ids: only("r13") },
  { filter: `has(metadata, '{"retries": 3}')`, ids: only("r53") },
  { filter: `has(metadata, '{"nested": {"flag": true}}')`, ids: only("r54") },
  { filter: `has(metadata, '{"conversation_id": ["zzz", "${TALK}"]}')`, ids: only("r30") },
  { filter: `exists(metadata_key, "model")`, ids: only("r41 r42 r43") },
  { filter: `exists(metadata, "nested")`, ids: only("r54") },
  { filter: `exists(metadata, "nest")`, ids: [] },
  { filter: `and(eq(metadata_key, "retries"), eq(metadata_value, "3"))`, ids: only("r53 r54") },
  { filter: `and(eq(metadata_key, "retries"), gt(metadata_value, 2))`, ids: only("r53") },
  { filter: `and(eq("metadata_key", "nested.flag"), eq(metadata_value, true))`, ids: only("r54") },
  { filter: `like(name, "%ChatOpenAI")`, ids: only("r50 r52") },
  { filter: `like(name, "%_ChatOpenAI")`, ids: only("r52") },
  { filter: `like(name, "A name%fifty bytes that a pattern of SQLite%may have")`, ids: [NAMED] },
  { filter: `like(name, "A name%${LONG}%may have")`, ids: [] },
  { filter: `like(name, "${LONG}")`, ids: [NAMED] },
  { filter: `like(input_value, "%CLASSIFICATION%")`, ids: only("r20 r23") },
  { filter: `search(inputs, "image")`, ids: only("r20 r22 r23") },
  { filter: `search("an image")`, ids: only("r20 r21 r22 r23") },
  { filter: `search(error, "BOOM")`, ids: only("r16 r38") },
  { filter: `lt(latency, "1000ms")`, ids: [] },
  { filter: `gte(latency, "0.5h30m")`, ids: only("r58 r59 r60") },
  { filter: `eq(latency, null)`, ids: only("r39") },
  { filter: `eq(end_time, null)`, ids: only("r39") },
  { filter: `eq(error, true)`, ids: only("r16 r19 r38") },
  { filter: `neq(error, true)`, ids: allBut("r16 r19 r38") },
  { filter: `eq(error, "boom")`, ids: only("r16") },
  { filter: `in(run_type, ["tool", "LLM"])`, ids: only("r36 r37 r39 r40") },
  { filter: `eq(execution_order, 3)`, ids: only("r01") },
  { filter: `neq(execution_order, 3)`, ids: allBut("r01") },
  { filter: `eq(parent_run_id, null)`, ids: only("r32 r34 r35 r41 r43 r55") },
  { filter: `neq(session_id, "source-project-123")`, ids: [] },
  { filter: `in(session_id, ["other", "SOURCE-project-123"])`, ids: allBut("") },
  {
    filter: `and(neq(feedback_key, "user_score"), gt(feedback_score, 0.9))`,
    ids: only("r04 r05 r06 r18 r52"),
  },
  {
    filter: `and(eq(feedback_key, "star_rating"), neq(feedback_score, 5))`,
    ids: only("r05 r06 r07"),
  },
  { filter: `neq(feedback_score, 1)`, ids: allBut("r18 r32 r33 r35 r52") },
  { filter: `eq(feedback_score, null)`, ids: only("r07 r54 r55") },
  {
    filter: `and(eq(feedback_key, "prompt_intent"), eq(feedback_source, "api"), eq(feedback_value, "x"))`,
    ids: only("r54"),
  },
  { filter: `eq(start_time, "2024-01-01T13:00:00.000+01:00")`, ids: only("r60") },
  { filter: `lt(start_time, "2023-07-15")`, ids: [] },
];
