/** A part of a text: plain text, or one of the supported marks. */
export type Inline =
  | string
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "del"; parts: Inline[] }
  | { kind: "link"; href: string; label: string };

type ListItem = { depth: number; marker: string; text: string };

export type Block =
  | { kind: "text" | "quote" | "heading"; text: string }
  | { kind: "code"; lines: string[] }
  | { kind: "list"; items: ListItem[] }
  | { kind: "rule" }
  | { kind: "gap" };

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$/;
const HEADING = /^#{1,6} +(.*)$/;
const QUOTE = /^> ?(.*)$/;
const RULE = /^(?:\*{3,}|-{3,}|_{3,})$/;
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)]) (.*)$/;
const INDENT = 2;

/** Parses a message into paragraphs, headings, lists, quotes and code. Unknown marks stay text. */
export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let fence: { mark: string; lines: string[] } | null = null;
  for (const line of text.split(/\r?\n/)) {
    const mark = FENCE.exec(line)?.[1];
    if (fence !== null) {
      if (isEnd(line, fence.mark)) fence = null;
      else fence.lines.push(line);
    } else if (mark !== undefined) {
      fence = { mark, lines: [] };
      blocks.push({ kind: "code", lines: fence.lines });
    } else {
      addLine(blocks, line);
    }
  }
  return blocks.filter(({ kind }) => kind !== "gap");
}

/** Whether a line ends a block of code: its fence has no language, and is at least as long as the first one. */
function isEnd(line: string, first: string): boolean {
  const [, mark = "", info = ""] = FENCE.exec(line) ?? [];
  return mark.startsWith(first) && info.trim() === "";
}

function addLine(blocks: Block[], line: string): void {
  const block = toBlock(line);
  const last = blocks.at(-1);
  if (last?.kind === "list" && block.kind === "list") last.items.push(...block.items);
  else if (last?.kind === "list" && block.kind === "text" && line.startsWith("  ")) {
    const item = last.items.at(-1);
    if (item) item.text += `\n${line.trim()}`;
  } else if ((last?.kind === "text" || last?.kind === "quote") && last.kind === block.kind) {
    last.text += `\n${block.text}`;
  } else blocks.push(block);
}

function toBlock(line: string): Block {
  const bare = line.trim();
  if (bare === "") return { kind: "gap" };
  if (RULE.test(bare)) return { kind: "rule" };
  const title = HEADING.exec(line)?.[1];
  if (title !== undefined) return { kind: "heading", text: title };
  const [, indent = "", marker, text = ""] = ITEM.exec(line) ?? [];
  if (marker !== undefined) {
    return { kind: "list", items: [{ depth: Math.floor(indent.length / INDENT), marker, text }] };
  }
  const quoted = QUOTE.exec(line)?.[1];
  return quoted === undefined ? { kind: "text", text: line } : { kind: "quote", text: quoted };
}

/** Each part ends before the next mark of its kind, so that hostile text costs linear time. */
const INLINE =
  /\\(?<escaped>[\\`*_{}[\]()#+.!>~|-])|`(?<code>[^`\n]{1,1000})`|!?\[(?<label>[^[\]\n]{0,500})\]\((?<target>[^()\s]{1,2000})\)|\*\*(?<strong>[^*\n]{1,1000})\*\*|\*(?<em>[^*\s](?:[^*\n]{0,998}[^*\s])?)\*|(?<!\w)_(?<under>[^_\s](?:[^_\n]{0,998}[^_\s])?)_(?!\w)|~~(?<del>[^~\n]{1,1000})~~|(?<url>https?:\/\/[^\s<>"'`()[\]]{0,1999}[^\s<>"'`()[\].,;:!?])/g;

const MAX_DEPTH = 3;

export function parseInline(text: string, depth = 0): Inline[] {
  if (depth === MAX_DEPTH) return [text];
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(toInline(match[0], match.groups ?? {}, depth + 1));
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

type Groups = Record<string, string | undefined>;

function toInline(whole: string, groups: Groups, depth: number): Inline {
  const { escaped, code, label, target, strong, em, under, del, url } = groups;
  if (escaped !== undefined) return escaped;
  if (code !== undefined) return { kind: "code", text: code };
  if (strong !== undefined) return { kind: "strong", parts: parseInline(strong, depth) };
  if (del !== undefined) return { kind: "del", parts: parseInline(del, depth) };
  const slanted = em ?? under;
  if (slanted !== undefined) return { kind: "em", parts: parseInline(slanted, depth) };
  const href = hrefOf(target ?? url ?? "");
  return href === null ? whole : { kind: "link", href, label: label || href };
}

/** @returns `null` for an address that a message may not link to, such as `javascript:` or a relative one */
function hrefOf(address: string): string | null {
  const url = URL.parse(address);
  return url && /^(https?|mailto):$/.test(url.protocol) ? url.href : null;
}
