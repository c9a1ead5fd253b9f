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
  /** Distance from the top of the tree in pixels. */
  top: number;
  isSelected: boolean;
  isOpen: boolean;
  onSelect: (index: number) => void;
  onToggle: (index: number) => void;
};

/** Deeper rows show their level as a number, because the styles limit the indent to 45% of the width. */
const MAX_INDENTED_LEVELS = 8;
const MAX_NAME_CHARS = 300;
/** If a bar ends behind this part of the width, its label is before the bar: behind the bar it would be cut. */
const LABEL_FLIP_AT = 0.86;

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
          transform: `translateY(${props.top}px)`,
          "--d": depth,
        } as CSSProperties
      }
      role="treeitem"
      tabIndex={-1}
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? isOpen : undefined}
      onClick={() => onSelect(index)}
    >
      <div className="nmc">
        {hasChildren ? <Twisty {...props} /> : <span className="tws" />}
        <Label {...props} />
      </div>
      {isInView(props) ? <Bar {...props} /> : <div className="wf" />}
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
  const descendants = (tree.size[index] ?? 1) - 1;
  const depth = tree.depth[index] ?? 0;
  return (
    <>
      {depth > MAX_INDENTED_LEVELS && (
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
        {!isOpen && descendants > 0 && `${formatNumber(descendants)} below`}
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

/** Whether a part of the span is in the visible range of time. */
function isInView({ tree, scale, index }: BarProps): boolean {
  return (tree.end[index] ?? 0) >= scale.from && (tree.start[index] ?? 0) <= scale.to;
}

/**
 * Draws the bar of a span. Steps with children are thin. The light part of a model call is the time to its first token.
 */
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
            left + width > LABEL_FLIP_AT
              ? { right: percent(1 - left) }
              : { left: percent(left + width) }
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
