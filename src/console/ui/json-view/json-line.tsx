import { formatBytes, formatNumber } from "../formats.ts";
import { Icon } from "../icon.tsx";
import { CUT_CHARS, type JsonRow } from "./rows.ts";
import { sizeOf } from "./tree.ts";

const MAX_NAME_CHARS = 200;
/** Deeper rows are not indented further, so that they stay readable. */
const MAX_INDENT = 24;
const INDENT_PX = 14;
/** Space for the button that opens a row. */
const BUTTON_PX = 18;

const SEPARATED: JsonRow["kind"][] = ["leaf", "closed", "end"];

type Props = { row: JsonRow; search: string; onToggle: () => void };

/**
 * Draws a row of a value. A cut text has a button that shows all of it, and a cut name the number of its characters.
 */
export function JsonLine({ row, search, onToggle }: Props) {
  const { kind, depth } = row;
  return (
    <span
      className="j-line"
      dir="ltr"
      style={{ paddingLeft: Math.min(depth, MAX_INDENT) * INDENT_PX + BUTTON_PX }}
    >
      {kind === "text" && <TextLine row={row} search={search} />}
      {kind === "more" && <More row={row} onToggle={onToggle} />}
      {(kind === "open" || kind === "closed") && <Opener {...{ row, search, onToggle }} />}
      {kind === "leaf" && <Leaf row={row} search={search} onToggle={onToggle} />}
      {kind === "end" && <span>{Array.isArray(row.value) ? "]" : "}"}</span>}
      {SEPARATED.includes(kind) && !row.isLast && <span>,</span>}
    </span>
  );
}

type TwistyProps = { isOpen: boolean; onToggle: () => void; depth: number };

function Twisty({ isOpen, onToggle, depth }: TwistyProps) {
  return (
    <button
      type="button"
      className="tw"
      style={{ left: Math.min(depth, MAX_INDENT) * INDENT_PX }}
      tabIndex={-1}
      aria-expanded={isOpen}
      aria-label={isOpen ? "Close" : "Open"}
      onClick={onToggle}
    >
      <Icon name="chevron" />
    </button>
  );
}

function Name({ name, search }: { name: string | null; search: string }) {
  if (name === null) return null;
  const surplus = name.length - MAX_NAME_CHARS;
  return (
    <>
      <bdi className="x-key">
        <Marked text={JSON.stringify(name.slice(0, MAX_NAME_CHARS))} search={search} />
      </bdi>
      {surplus > 0 && (
        <span className="x-dim">and {formatNumber(surplus)} more characters, which copy holds</span>
      )}
      <span className="mr-1.5">:</span>
    </>
  );
}

function TextLine({ row: { value, from, to }, search }: { row: JsonRow; search: string }) {
  return (
    <bdi className="x-str">
      <Marked text={String(value).slice(from, to)} search={search} />
    </bdi>
  );
}

function Opener({ row: { kind, name, value, depth }, search, onToggle }: Props) {
  return (
    <>
      <Twisty isOpen={kind === "open"} onToggle={onToggle} depth={depth} />
      <Name name={name} search={search} />
      {typeof value === "string" ? (
        <span className="x-dim">text of {formatBytes(value.length)}</span>
      ) : (
        <Brackets value={value} isOpen={kind === "open"} />
      )}
    </>
  );
}

function Brackets({ value, isOpen }: { value: unknown; isOpen: boolean }) {
  const isArray = Array.isArray(value);
  if (isOpen) return <span>{isArray ? "[" : "{"}</span>;
  const size = `${formatNumber(sizeOf(value))} ${isArray ? "items" : "names"}`;
  return (
    <>
      <span>{isArray ? "[" : "{"}</span>
      <span className="x-dim mx-1">{size}</span>
      <span>{isArray ? "]" : "}"}</span>
    </>
  );
}

function More({ row: { value, from, to }, onToggle }: { row: JsonRow; onToggle: () => void }) {
  const unit = typeof value === "string" ? "characters" : Array.isArray(value) ? "items" : "names";
  return (
    <button type="button" className="j-more" tabIndex={-1} onClick={onToggle}>
      Show more: {formatNumber(to - from)} of {formatNumber(to)} {unit} are not shown
    </button>
  );
}

function Leaf({ row: { name, value }, search, onToggle }: Props) {
  return (
    <>
      <Name name={name} search={search} />
      <Value value={value} search={search} onToggle={onToggle} />
    </>
  );
}

type ValueProps = Pick<Props, "search" | "onToggle"> & { value: unknown };

function Value({ value, search, onToggle }: ValueProps) {
  if (typeof value !== "string") {
    const tone = typeof value === "number" ? "x-num" : "x-lit";
    return (
      <span className={tone}>
        <Marked text={JSON.stringify(value) ?? "null"} search={search} />
      </span>
    );
  }
  const isCut = value.length > CUT_CHARS;
  return (
    <>
      {(isCut || value.includes("\n")) && (
        <button type="button" className="j-more mr-2" tabIndex={-1} onClick={onToggle}>
          Show {isCut ? formatBytes(value.length) : "lines"}
        </button>
      )}
      <bdi className="x-str">
        <Marked text={JSON.stringify(isCut ? value.slice(0, CUT_CHARS) : value)} search={search} />
      </bdi>
    </>
  );
}

/** Marks the first occurrence of the searched text. */
function Marked({ text, search }: { text: string; search: string }) {
  const at = search === "" ? -1 : text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return <>{text}</>;
  const end = at + search.length;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end)}
    </>
  );
}
