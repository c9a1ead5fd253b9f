import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { TraceSpan } from "../../../../traces/live/trace-schema.ts";
import type { TraceRun } from "../../../../traces/query/run-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { firstTokenMs, kindOf, statusOf } from "../../../traces/span-kind.ts";
import { toMs } from "../../../traces/tree.ts";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { formatDuration } from "../../../ui/formats.ts";
import { Icon } from "../../../ui/icon.tsx";
import { JsonView } from "../../../ui/json-view/json-view.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Status } from "../../../ui/status.tsx";
import { Cost, Quantity } from "../../../ui/values.tsx";
import type { TraceSearch } from "../model/search.ts";
import { SpanError } from "./span-error.tsx";
import { SpanFeedback } from "./span-feedback.tsx";
import { SpanMetadata } from "./span-metadata.tsx";
import { SpanPayloads } from "./span-payloads.tsx";

const route = getRouteApi("/w/$workspace/traces/$trace");

type HeadProps = { span: TraceSpan; start_ms: number; change: (search: TraceSearch) => void };
type Props = HeadProps & {
  /** The spans that it is in, outermost first. */
  above: TraceSpan[];
};

const TABS = [
  [undefined, "Input and output"],
  ["metadata", "Metadata"],
  ["feedback", "Feedback"],
  ["raw", "Raw"],
] as const;

/** Shows a span. Its payloads are read when it is chosen, and again when it ends. */
export function SpanDetail({ span, above, start_ms, change }: Props) {
  const { tab } = route.useSearch();
  const query = useApiQuery<TraceRun>(apiPath`/api/v1/runs/${span.id}`);
  const former = useRef(span.end_time);
  useEffect(() => {
    if (former.current !== span.end_time) void query.refetch();
    former.current = span.end_time;
  }, [span.end_time, query.refetch]);
  return (
    <section className="span-detail" aria-label="Chosen span">
      {above.length > 1 && <Ancestors above={above} />}
      <Head span={span} start_ms={start_ms} change={change} />
      {span.error !== null && (
        <SpanError
          error={query.data?.error ?? span.error}
          isCut={span.is_error_cut && !query.data}
        />
      )}
      <nav className="tabs sm" aria-label="Parts of the span">
        {TABS.map(([each, label]) => (
          <route.Link
            key={label}
            to="."
            search={(search) => ({ ...search, span: span.id, tab: each })}
            replace
            activeOptions={{ explicitUndefined: true }}
            aria-current={tab === each ? "page" : undefined}
          >
            {label}
          </route.Link>
        ))}
      </nav>
      <div className="span-body">
        <QueryState query={query} what="The span could not be read" rows={4}>
          {(run) => (
            <>
              {tab === undefined && <SpanPayloads run={run} />}
              {tab === "metadata" && <SpanMetadata run={run} />}
              {tab === "feedback" && <SpanFeedback run_id={run.id} />}
              {tab === "raw" && <JsonView label="Raw" value={run} maxHeight={600} />}
            </>
          )}
        </QueryState>
      </div>
    </section>
  );
}

/** Number of ancestors that are named. */
const NEAREST = 3;

/** Links to the nearest ancestors of a span: the tree has no room for the names of deep ones. */
function Ancestors({ above }: { above: TraceSpan[] }) {
  const shown = above.slice(-NEAREST);
  return (
    <nav className="crumbs span-above sm" aria-label="Spans above">
      {above.length > shown.length && (
        <span className="dim">{above.length - shown.length} above</span>
      )}
      {shown.map(({ id, name }) => (
        <route.Link
          key={id}
          to="."
          search={(former) => ({ ...former, span: id })}
          replace
          className="cut"
          title={name}
        >
          {name}
        </route.Link>
      ))}
    </nav>
  );
}

function Head({ span, start_ms, change }: HeadProps) {
  const { icon, tone, word } = kindOf(span.run_type);
  const { kind, word: state } = statusOf(span.status);
  const starts = toMs(span.start_time) - start_ms;
  const token = firstTokenMs(span);
  return (
    <div className="span-head">
      <div className="row">
        <span className={tone}>
          <Icon name={icon} />
        </span>
        <h2 className="cut grow" title={span.name}>
          <bdi>{span.name}</bdi>
        </h2>
        <Status kind={kind} plain={kind === "ok"}>
          {state}
        </Status>
        <CopyButton text={() => location.href} label="Copy the link to this span" />
        <button
          type="button"
          className="btn ghost icon sm"
          aria-label="Close the span"
          onClick={() => change({ span: "none" })}
        >
          <Icon name="close" small />
        </button>
      </div>
      <div className="row wrap sm dim">
        <span>{word}</span>
        {span.end_time && (
          <span>{formatDuration(toMs(span.end_time) - toMs(span.start_time))}</span>
        )}
        <span>starts at {formatDuration(starts)}</span>
        {token !== null && <span>{formatDuration(token)} to the first token</span>}
        {span.total_tokens !== null && (
          <span>
            <Quantity value={span.total_tokens} /> tokens
          </span>
        )}
        {span.total_cost !== null && <Cost dollars={Number(span.total_cost)} />}
      </div>
    </div>
  );
}
