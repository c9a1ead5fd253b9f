/** The graphs of test/fixtures/agents by name: each is an export of the same name. */
export const TEST_GRAPHS = [
  "echo",
  "steps",
  "ask",
  "fails",
  "unserializable",
  "tokens",
  "nested",
  "config",
  "plain",
  "factory",
  "flood",
  "tooled",
  "odd",
  "signs_in",
  "signs_in_plainly",
  "traced",
];
