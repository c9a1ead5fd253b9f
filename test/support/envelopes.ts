import fc from "fast-check";

const instance = (id: unknown, kwargs: unknown) => ({ lc: 1, type: "constructor", id, kwargs });
const secret = { lc: 1, type: "secret", id: ["MY_SECRET"] };
const message = ["langchain_core", "messages", "HumanMessage"];
const builtin = (id: unknown, args: unknown, method: unknown = null) => {
  return { lc: 2, type: "constructor", id, method, args, kwargs: {} };
};

/** JSON in the formats of LangChain's and LangGraph's serializers, as a client may send it. */
export const envelopes = {
  secret,
  human: instance(message, { content: secret }),
  template: instance(["langchain_core", "prompts", "PromptTemplate"], { template: 5 }),
  chat_template: instance(["langchain_core", "prompts", "chat", "ChatPromptTemplate"], {}),
  unknown_class: instance(["langchain_core", "messages", "NoSuchMessage"], { content: "x" }),
  unknown_namespace: instance(["langchain", "chat_models", "openai", "ChatOpenAI"], {
    apiKey: secret,
  }),
  not_implemented: { lc: 1, type: "not_implemented", id: ["a", "B"] },
  no_kwargs: { lc: 1, type: "constructor", id: message },
  odd_id: instance([null, { a: 1 }, 7], {}),
  odd_version: { lc: "1", type: "constructor", id: message, kwargs: {} },
  lc_alone: { lc: null },
  escaped_data: { __lc_escaped__: 1, other: 2 },
  escaped: { __lc_escaped__: instance(message, { content: "x" }) },
  method: builtin(["Uint8Array"], [{ length: 1e9 }], "from"),
  function_class: builtin(["Function"], ["return process"]),
  bad_map: builtin(["Map"], [[1, 2]]),
  bad_regexp: builtin(["RegExp"], ["(", "g"]),
  inherited: builtin(["toString"], []),
  unknown_value: { lc: 2, type: "no_such_type" },
  send: { lg_name: "Send", node: "model", args: secret },
  prototype: JSON.parse('{"__proto__":{"lc":1},"constructor":{"prototype":{"lc":1}}}') as object,
};

/** Envelopes that a reader without escaping would turn into values of JavaScript. */
const values = [
  builtin(["Set"], [[1]]),
  builtin(["Error"], ["x"]),
  builtin(["Map"], [[["a", 1]]]),
  { lc: 2, type: "undefined" },
  { lc: 2, type: "delta_snapshot", value: [1] },
];

export function nest(levels: number, innermost: unknown): unknown {
  let value = innermost;
  for (let n = 0; n < levels; n++) value = n % 2 ? [value] : { a: value };
  return value;
}

/** Random JSON with such envelopes at random places, also within each other and with a part changed. */
export function jsonWithEnvelopes(): fc.Arbitrary<unknown> {
  const known = fc.constantFrom(...Object.values(envelopes), ...values);
  const key = fc.oneof(
    fc.constantFrom("lc", "type", "id", "kwargs", "args", "__lc_escaped__", "messages", "content"),
    fc.string({ maxLength: 6 }).filter((name) => name !== "__proto__"),
  );
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(
        fc.constantFrom(1, 2, "constructor", "secret", null),
        fc.string({ maxLength: 8 }),
        fc.integer(),
        known,
      ),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(key, tie("json"), { maxKeys: 5, noNullPrototype: true }),
      fc
        .tuple(known, fc.dictionary(key, tie("json"), { maxKeys: 2, noNullPrototype: true }))
        .map(([envelope, changed]) => ({ ...envelope, ...changed })),
    ),
  }));
  // A copy by JSON: what a server receives shares no objects and has no `undefined`.
  return json.map((value) => JSON.parse(JSON.stringify(value)));
}

/** Whether a value is JSON alone: no instances, no `undefined`. */
export function isData(value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== "object" || value === null) return true;
  const prototype = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === Array.prototype;
  return isPlain && Object.keys(value).every((key) => isData(Reflect.get(value, key)));
}
