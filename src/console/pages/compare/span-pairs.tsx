import { Link } from "@tanstack/react-router";
import type { TraceSpan } from "../../../traces/live/trace-schema.ts";
import type { TraceRun } from "../../../traces/query/run-schema.ts";
import { useWorkspaceId } from "../../api/hooks.ts";
import { pathTo } from "../../state/path.ts";
import { kindOf } from "../../traces/span-kind.ts";
import { buildTree, toMs } from "../../traces/tree.ts";
import { type TraceData, useTrace } from "../../traces/use-trace.ts";
import { cutText, formatDuration, formatNumber } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { alignSpans, type SpanPair } from "./align.ts";
import { CompareHead } from "./figures.tsx";

/** Largest number of rows: the table draws all of them, also those out of view. */
const SHOWN = 300;
const MAX_INDENT = 12;

/** Shows the trees of both runs as one: spans of both with their difference in time, and spans of only one. */
export function SpanPairs({ a, b }: { a: TraceRun; b: TraceRun }) {
  const first = useTrace(a.trace_id, { isPaused: true });
  const second = useTrace(b.trace_id, { isPaused: true });
  return (
    <QueryState query={first} what="The spans of run A could not be read">
      {(ofA) => (
        <QueryState query={second} what="The spans of run B could not be read">
          {(ofB) => <Pairs a={{ run: a, data: ofA }} b={{ run: b, data: ofB }} />}
        </QueryState>
      )}
    </QueryState>
  );
}

type SideData = { run: TraceRun; data: TraceData };

function Pairs({ a, b }: { a: SideData; b: SideData }) {
  const pairs = alignSpans(placeOf(a), placeOf(b));
  const alone = (side: "a" | "b") =>
    pairs.filter((pair) => pair[side === "a" ? "b" : "a"] === null);
  const counts = `${formatNumber(alone("a").length)} only in A, ${formatNumber(alone("b").length)} only in B`;
  return (
    <Panel
      title="Spans"
      className="mb-4"
      footer={
        pairs.length > SHOWN
          ? `The first ${SHOWN} of ${formatNumber(pairs.length)}; ${counts}`
          : counts
      }
    >
      <table className="tbl" aria-label="Spans of both runs">
        <CompareHead first="Span" />
        <tbody>
          {pairs.slice(0, SHOWN).map((pair) => (
            <PairRow
              key={`${pair.a?.id} ${pair.b?.id}`}
              pair={pair}
              traces={{ a: a.run.trace_id, b: b.run.trace_id }}
            />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function placeOf({ run, data }: SideData) {
  const tree = buildTree(data.spans, Date.now());
  return { tree, index: tree.indexOf.get(run.id) ?? 0 };
}

type RowProps = { pair: SpanPair; traces: { a: string; b: string } };

function PairRow({ pair: { a, b, depth }, traces }: RowProps) {
  const span = a ?? b;
  if (span === null) return null;
  const { icon, tone, word } = kindOf(span.run_type);
  return (
    <tr className={a === null || b === null ? "alone" : ""}>
      <td>
        <span className="row" style={{ paddingInlineStart: Math.min(depth, MAX_INDENT) * 14 }}>
          <span className={tone} title={word}>
            <Icon name={icon} small />
          </span>
          <bdi className="cut" title={span.name}>
            {cutText(span.name, 200)}
          </bdi>
        </span>
      </td>
      <TimeCell span={a} trace_id={traces.a} />
      <TimeCell span={b} trace_id={traces.b} />
      <td className="num dim">{difference(a, b)}</td>
    </tr>
  );
}

/** Links to the span with its duration, and names a failure. */
function TimeCell({ span, trace_id }: { span: TraceSpan | null; trace_id: string }) {
  const workspace = useWorkspaceId();
  if (span === null) return <td className="num dim">none</td>;
  const ms = lengthOf(span);
  return (
    <td className="num">
      <Link
        to={pathTo(workspace, `/traces/${trace_id}`)}
        search={{ span: span.id }}
        className={span.status === "ERROR" ? "err" : ""}
      >
        {span.status === "ERROR" && "failed, "}
        {ms === null ? "running" : formatDuration(ms)}
      </Link>
    </td>
  );
}

function lengthOf({ start_time, end_time }: TraceSpan): number | null {
  return end_time === null ? null : toMs(end_time) - toMs(start_time);
}

function difference(a: TraceSpan | null, b: TraceSpan | null): string {
  if (a === null) return "only in B";
  if (b === null) return "only in A";
  const [first, second] = [lengthOf(a), lengthOf(b)];
  if (first === null || second === null) return "";
  const more = second - first;
  if (Math.abs(more) < 1) return "the same";
  return `${formatDuration(Math.abs(more))} ${more > 0 ? "more" : "less"}`;
}
