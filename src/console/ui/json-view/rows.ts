import { childId, childOf, isContainer, nameOf, sizeOf } from "./tree.ts";

export type JsonRow = {
  /** Positions from the root, such as `r/0/12`. */
  id: string;
  depth: number;
  kind: "open" | "closed" | "end" | "leaf" | "more" | "text";
  name: string | null;
  value: unknown;
  /**
   * For a row of kind `text`: the range of characters. For `more`: the number of shown characters, items or names (`from`)
   * and of all (`to`). Else 0.
   */
  from: number;
  to: number;
  isLast: boolean;
};

/** Number of shown children or lines of each open node, by its id. */
export type OpenNodes = ReadonlyMap<string, number>;

export const ROOT = "r";
/** Characters that are shown of a string that is not open. */
export const CUT_CHARS = 500;
/** Number of children or lines that are shown when a node is opened, and added by each `more`. */
export const CHUNK = 1000;
const LINE_CHARS = 160;
/**
 * Upper bound of the rows that are shown at first. Children of the root count, and are shown even if there are more.
 */
const FIRST_ROWS = 400;

type Node = Pick<JsonRow, "id" | "depth" | "name" | "value" | "isLast">;
type Frame = { node: Node; next: number; shown: number };

/** Lists the rows of open nodes only, so that the cost depends on what is visible. */
export function listRows(value: unknown, opened: OpenNodes): JsonRow[] {
  const rows: JsonRow[] = [];
  const frames: Frame[] = [];
  enter({ id: ROOT, depth: 0, name: null, value, isLast: true }, opened, rows, frames);
  for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
    if (frame.next < frame.shown) {
      frame.next += 1;
      enter(childNode(frame.node, frame.next - 1), opened, rows, frames);
    } else {
      frames.pop();
      leave(frame, rows);
    }
  }
  return rows;
}

function enter(node: Node, opened: OpenNodes, rows: JsonRow[], frames: Frame[]): void {
  const shown = opened.get(node.id) ?? 0;
  const size = sizeOf(node.value);
  const isOpen = shown > 0;
  if (typeof node.value === "string" && isOpen) {
    if (node.id !== ROOT) rows.push(rowOf(node, "open"));
    pushLines(node, shown, rows);
    return;
  }
  if (!isContainer(node.value) || size === 0) {
    rows.push(rowOf(node, "leaf"));
    return;
  }
  rows.push(rowOf(node, isOpen ? "open" : "closed"));
  if (isOpen) frames.push({ node, next: 0, shown: Math.min(shown, size) });
}

function leave({ node, shown }: Frame, rows: JsonRow[]): void {
  const size = sizeOf(node.value);
  if (shown < size) rows.push(rowOf({ ...node, depth: node.depth + 1 }, "more", shown, size));
  rows.push(rowOf(node, "end"));
}

function childNode(parent: Node, index: number): Node {
  return {
    id: childId(parent.id, index),
    depth: parent.depth + 1,
    name: nameOf(parent.value, index),
    value: childOf(parent.value, index),
    isLast: index === sizeOf(parent.value) - 1,
  };
}

function rowOf(node: Node, kind: JsonRow["kind"], from = 0, to = 0): JsonRow {
  return { ...node, kind, from, to };
}

function pushLines(node: Node, shown: number, rows: JsonRow[]): void {
  const text = String(node.value);
  const depth = node.id === ROOT ? 0 : node.depth + 1;
  let count = 0;
  let end = 0;
  for (const line of linesOf(text)) {
    if (count === shown) break;
    rows.push(rowOf({ ...node, depth }, "text", line.from, line.to));
    count += 1;
    end = line.next;
  }
  if (end < text.length) rows.push(rowOf({ ...node, depth }, "more", end, text.length));
}

type TextLine = { from: number; to: number; next: number };

/** Splits a text at line ends, and long lines after `LINE_CHARS`, never inside a surrogate pair. */
export function* linesOf(text: string): Generator<TextLine> {
  let lineEnd = -1;
  for (let from = 0; from < text.length || from === 0; ) {
    if (lineEnd < from) lineEnd = endOfLine(text, from);
    const to = lineEnd - from <= LINE_CHARS ? lineEnd : wholeCharacters(text, from + LINE_CHARS);
    const next = to === lineEnd ? to + 1 : to;
    yield { from, to, next: Math.min(next, text.length) };
    from = next;
  }
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at < 0 ? text.length : at;
}

function wholeCharacters(text: string, to: number): number {
  const code = text.charCodeAt(to - 1);
  return code >= 0xd800 && code <= 0xdbff ? to + 1 : to;
}

/**
 * Opens the root, and then nodes level by level, up to `FIRST_ROWS`. A value that is a text is open. Strings in a value
 * are closed.
 */
export function openAtFirst(value: unknown): OpenNodes {
  const opened = new Map<string, number>();
  if (isContainer(value) || typeof value === "string") opened.set(ROOT, CHUNK);
  let budget = FIRST_ROWS - sizeOf(value);
  for (let level: Child[] = [{ id: ROOT, value }]; level.length > 0 && budget > 0; ) {
    level = level
      .flatMap(({ id, value: parent }) => childrenOf(id, parent))
      .filter((child) => {
        const size = sizeOf(child.value);
        if (size === 0 || size > budget) return false;
        opened.set(child.id, size);
        budget -= size;
        return true;
      });
  }
  return opened;
}

type Child = { id: string; value: unknown };

function childrenOf(id: string, value: unknown): Child[] {
  return Array.from({ length: Math.min(sizeOf(value), CHUNK) }, (_, index) => {
    return { id: childId(id, index), value: childOf(value, index) };
  });
}
