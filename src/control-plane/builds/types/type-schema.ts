export type Schema = Record<string, unknown>;

/** Schema of a type that JSON Schema cannot express. */
export const ANYTHING: Schema = {};

export const PRIMITIVES = new Map<string, Schema>([
  ["string", { type: "string" }],
  ["number", { type: "number" }],
  ["boolean", { type: "boolean" }],
  ["object", { type: "object" }],
  ["null", { type: "null" }],
  ["true", { const: true }],
  ["false", { const: false }],
]);

export const MESSAGE: Schema = {
  type: "object",
  properties: { type: { type: "string" }, id: { type: "string" }, content: {} },
  required: ["content"],
};
export const MESSAGES = [
  "BaseMessage",
  "AIMessage",
  "HumanMessage",
  "SystemMessage",
  "ToolMessage",
];

export function toUnion(options: Schema[]): Schema {
  const [first, ...rest] = options;
  if (!first) return ANYTHING;
  if (rest.length === 0) return first;
  if (options.some((option) => Object.keys(option).length === 0)) return ANYTHING;
  if (options.every((option) => "const" in option)) {
    const values = options.map((option) => option.const);
    const types = new Set(values.map((value) => typeof value));
    if (types.size === 1) values.sort();
    return { ...(types.size === 1 && { type: [...types][0] }), enum: values };
  }
  return { anyOf: options };
}
