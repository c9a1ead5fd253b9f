import { type CSSProperties, memo } from "react";
import { firstTokenMs, kindOf } from "../../../traces/span-kind.ts";
import type { TraceTree } from "../../../traces/tree.ts";
import { cutText, formatDuration, formatNumber } from "../../../ui/formats.ts";
import { Icon } from "../../../ui/icon.tsx";
import { StatusIcon } from "../../../ui/status.tsx";
import { type Scale, toX } from "../model/scale.ts";

type Props = {
  id: string;
  tree: TraceTree;
  scale: Scale;
  index: number;
  start: number;
  isSelected: boolean;
  isOpen: boolean;
  /** Position among the shown rows, and their number. */
  position: number;
  count: number;
  onSelect: (index: number) => void;
  onToggle: (index: number) => void;
};

/** Names below this level have its number: their indent takes no more of the width. */
const DEEP = 8;
const MAX_NAME_CHARS = 300;

/** A span in the tree, and its bar in the waterfall. */
export const SpanRow = memo(function SpanRow(props: Props) {
  const { tree, index, isSelected, isOpen, onSelect } = props;
  const span = tree.spans[index];
  if (span === undefined) return null;
  const hasChildren = (tree.size[index] ?? 1) > 1;
  const depth = tree.depth[index] ?? 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
    <div
      id={props.id}
      className={`tree-row ${tree.failed[index] ? "path" : ""}`}
      style={
        {
          transform: `translateY(${props.start}px)`,
          "--d": depth,
        } as CSSProperties
      }
      role="treeitem"
      tabIndex={-1}
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? isOpen : undefined}
      aria-setsize={props.count}
      aria-posinset={props.position + 1}
      onClick={() => onSelect(index)}
    >
      <div className="nmc">
        {hasChildren ? <Twisty {...props} /> : <span className="tws" />}
        <Label {...props} />
      </div>
      {isDrawn(props) ? <Bar {...props} /> : <div className="wf" />}
    </div>
  );
});

function Twisty({ index, isOpen, onToggle }: Props) {
  return (
    <button
      type="button"
      className="tw"
      tabIndex={-1}
      aria-expanded={isOpen}
      aria-label={isOpen ? "Close" : "Open"}
      onClick={(event) => {
        event.stopPropagation();
        onToggle(index);
      }}
    >
      <Icon name="chevron" />
    </button>
  );
}

function Label({ tree, index, isOpen }: Props) {
  const span = tree.spans[index];
  if (span === undefined) return null;
  const { icon, tone, word } = kindOf(span.run_type);
  const name = cutText(span.name, MAX_NAME_CHARS);
  const below = (tree.size[index] ?? 1) - 1;
  const depth = tree.depth[index] ?? 0;
  return (
    <>
      {depth > DEEP && (
        <span className="xs dim" title={`Level ${depth + 1}`}>
          {depth + 1}
        </span>
      )}
      <span className={tone} title={word}>
        <Icon name={icon} className="k" />
      </span>
      <bdi className="nm cut" title={name}>
        {name}
      </bdi>
      {span.status === "ERROR" && <Mark kind="failed" word="failed" tone="err" />}
      {span.status === "PENDING" && <Mark kind="running" word="running" tone="live" />}
      <span className="push xs dim nw">
        {!isOpen && below > 0 && `${formatNumber(below)} below`}
        {isOpen && span.total_tokens !== null && span.run_type === "LLM" && (
          <>{formatNumber(span.total_tokens)} tok</>
        )}
      </span>
    </>
  );
}

type MarkProps = { kind: "failed" | "running"; word: string; tone: string };

function Mark({ kind, word, tone }: MarkProps) {
  return (
    <span className={`${tone} small-icon`}>
      <StatusIcon kind={kind} />
      <span className="sr">{word}</span>
    </span>
  );
}

type BarProps = Pick<Props, "tree" | "scale" | "index">;

/** Whether a part of the span is in the stretch of time that is drawn. */
function isDrawn({ tree, scale, index }: BarProps): boolean {
  return (tree.end[index] ?? 0) >= scale.from && (tree.start[index] ?? 0) <= scale.to;
}

/** Structure is thin, work is thick and coloured; the light part of a model call waits for a token. */
function Bar({ tree, scale, index }: BarProps) {
  const span = tree.spans[index];
  const start = tree.start[index] ?? 0;
  const end = tree.end[index] ?? start;
  if (span === undefined) return null;
  const { tone } = kindOf(span.run_type);
  const left = toX(scale, start);
  const width = toX(scale, end) - left;
  const isStructure = tone === "k-chain" && (tree.size[index] ?? 1) > 1;
  const state = { ERROR: isStructure ? "" : "e", PENDING: "r", SUCCESS: "" }[span.status];
  const token = firstTokenMs(span);
  return (
    <div className="wf" aria-hidden="true">
      {scale.gaps.map(({ from, x0, x1 }) => (
        <span key={from} className="gap" style={{ left: percent(x0), width: percent(x1 - x0) }} />
      ))}
      <span
        className={`bar ${tone} ${state} ${isStructure ? "thin" : ""}`}
        style={{ left: `min(${percent(left)}, 100% - 2px)`, width: percent(width) }}
      >
        {token !== null && tone === "k-llm" && end > start && (
          <span className="ft" style={{ width: percent(Math.min(token / (end - start), 1)) }} />
        )}
      </span>
      {!isStructure && (
        <span
          className="bl"
          style={
            left + width > 0.86 ? { right: percent(1 - left) } : { left: percent(left + width) }
          }
        >
          {formatDuration(end - start)}
        </span>
      )}
    </div>
  );
}

function percent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
