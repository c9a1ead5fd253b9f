/** The graphs of test/fixtures/agents by name: each is an export of the same name. */
export const TEST_GRAPHS = [
  "echo",
  "steps",
  "ask",
  "fails",
  "last_words",
  "unserializable",
  "tokens",
  "nested",
  "config",
  "plain",
  "factory",
  "talks",
  "flood",
  "tooled",
  "odd",
  "signs_in",
  "signs_in_plainly",
  "traced",
  "team",
  "interrupts_within",
  "typed",
  "interrupts_after_a_step",
  "looks",
  "looks_within",
  "looks_strictly",
  "stores",
  "stores_plainly",
  "interrupts_both",
  "interrupts_twice",
  "says",
  "branches",
  "calls",
  "counts",
  "counts_plainly",
  "keeps",
  "keeps_plainly",
  "holds",
  "breaks",
  "throws",
  "cleans_up",
  "cleans_up_plainly",
  "leaves_work",
  "delta",
];

/** `auth` of a langgraph.json that names test/fixtures/agents/auth.ts. */
export const TEST_AUTH = { path: "./src/auth.ts:auth" };

/** `store` of the test agent's langgraph.json. */
export const TEST_STORE = {
  index: { dims: 8, embed: "./src/embed.ts:embed", fields: ["text", "tags[*]"] },
};
