type Node = Map<string, Node> | { leaf: unknown };

/** Keys that wrap each item of a list: `0.message.role` is the role of item 0. */
const WRAPPERS = ["message", "message_content", "tool_call", "document", "tool"];
/** OpenInference names a message's list of parts `contents`. */
const RENAMED = new Map([["contents", "content"]]);
/** Bounds the recursion of `toValue`: the rest of a longer name is one key. */
const MAX_LEVELS = 20;

/** Builds a list from numbered attributes, `[["0.message.role", "user"], …]`. Names without numbers make one item. */
export function toList(items: [string, unknown][]): unknown[] {
  const root: Node = new Map();
  for (const [name, value] of items) insert(root, name.split("."), value);
  const list = toValue(root);
  return Array.isArray(list) ? list : [list];
}

function insert(root: Map<string, Node>, path: string[], value: unknown): void {
  let node = root;
  const last = path.length > MAX_LEVELS ? path.splice(MAX_LEVELS).join(".") : (path.pop() ?? "");
  for (const key of path) {
    const next = node.get(key);
    if (next instanceof Map) node = next;
    else {
      const made = new Map<string, Node>();
      node.set(key, made);
      node = made;
    }
  }
  if (!node.has(last)) node.set(last, { leaf: value });
}

function toValue(node: Node): unknown {
  if (!(node instanceof Map)) return node.leaf;
  const keys = [...node.keys()];
  if (keys.every((key) => /^\d{1,9}$/.test(key))) {
    const ordered = keys.sort((a, b) => Number(a) - Number(b));
    return ordered.map((key) => toValue(node.get(key) ?? new Map()));
  }
  const [only] = keys;
  const inner = only === undefined ? undefined : node.get(only);
  if (keys.length === 1 && only !== undefined && WRAPPERS.includes(only) && inner instanceof Map) {
    return toValue(inner);
  }
  return Object.fromEntries(
    [...node].map(([key, value]) => [RENAMED.get(key) ?? key, toValue(value)]),
  );
}
