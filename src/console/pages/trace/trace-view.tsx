import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { ancestorsOf, buildTree, type TraceTree } from "../../traces/tree.ts";
import { isRunning, type TraceData } from "../../traces/use-trace.ts";
import { formatDuration } from "../../ui/formats.ts";
import { Icon } from "../../ui/icon.tsx";
import { useNow } from "../../ui/values.tsx";
import { SpanDetail } from "./detail/span-detail.tsx";
import { TraceHead } from "./head.tsx";
import { deepestFailure, listRows } from "./model/rows.ts";
import { findGaps, scaleOf, zoomOf } from "./model/scale.ts";
import type { TraceSearch, Zoom } from "./model/search.ts";
import { SpanTree } from "./tree/span-tree.tsx";
import { TreeToolbar } from "./tree/toolbar.tsx";

const route = getRouteApi("/w/$workspace/traces/$trace");

type Props = { id: string; data: TraceData };

export function TraceView({ id, data }: Props) {
  const search = route.useSearch();
  const now = useNow(isRunning(data));
  const runs = isRunning(data) ? now : 0;
  const tree = useMemo(() => buildTree(data.spans, runs || Date.now()), [data.spans, runs]);
  const navigate = route.useNavigate();
  const change = useCallback(
    (next: TraceSearch) =>
      void navigate({
        search: (former) => ({ ...former, ...next }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const chosen = search.span === undefined ? firstChoice(tree) : tree.indexOf.get(search.span);
  const span = chosen === undefined ? undefined : tree.spans[chosen];
  return (
    <div className="trace-page">
      <TraceHead id={id} data={data} tree={tree} />
      <div className={`trace-grid ${search.span === "none" ? "alone" : ""}`}>
        <section className="trace-tree" aria-label="Spans">
          <TreeToolbar
            search={search}
            hasFailed={tree.failed.includes(true)}
            chosen={timeOf(tree, chosen)}
            onChange={change}
          />
          <Tree tree={tree} selected={chosen ?? null} search={search} change={change} />
          <Foot tree={tree} data={data} search={search} change={change} />
        </section>
        {span && search.span !== "none" && (
          <SpanDetail
            key={span.id}
            span={span}
            above={ancestorsOf(tree, span.id)}
            start_ms={tree.start_ms}
            change={change}
          />
        )}
        {search.span !== undefined && search.span !== "none" && span === undefined && (
          <p className="dim p-4">
            The trace has no span <code className="break-all">{search.span.slice(0, 100)}</code>.
          </p>
        )}
      </div>
    </div>
  );
}

/** @returns the time of a span, `null` when it took no time: a zoom to it would be empty */
function timeOf(tree: TraceTree, index: number | undefined): Zoom | null {
  const [from = 0, to = 0] = [tree.start[index ?? -1], tree.end[index ?? -1]];
  return to > from ? { from, to } : null;
}

/** Returns the deepest failure, else the root. */
function firstChoice(tree: TraceTree): number {
  return deepestFailure(tree) ?? 0;
}

type TreeProps = {
  tree: TraceTree;
  selected: number | null;
  search: TraceSearch;
  change: (search: TraceSearch) => void;
};

function Tree({ tree, selected, search, change }: TreeProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const { find = "", view = "all", scale: isToScale } = search;
  const { from_ms, to_ms } = search;
  const scale = useMemo(
    () => scaleOf(tree, !isToScale, zoomOf({ from_ms, to_ms })),
    [tree, isToScale, from_ms, to_ms],
  );
  const rows = useMemo(
    () => listRows(tree, { mode: view, search: find.toLowerCase(), closed }),
    [tree, view, find, closed],
  );
  const select = useCallback(
    (index: number) => change({ span: tree.spans[index]?.id }),
    [tree, change],
  );
  const toggle = useCallback(
    (index: number) => setClosed((former) => toggled(former, tree.spans[index]?.id ?? "")),
    [tree],
  );
  useOpenAbove(tree, selected, setClosed);
  return (
    <SpanTree
      tree={tree}
      scale={scale}
      rows={rows}
      selected={selected}
      closed={closed}
      onSelect={select}
      onToggle={toggle}
      onLeave={() => change({ span: "none" })}
      onZoom={({ from, to }) => change({ from_ms: from, to_ms: to })}
    />
  );
}

function toggled(former: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(former);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** Opens the closed ancestors of a span when it is chosen, such as by a link or the back button. */
function useOpenAbove(
  tree: TraceTree,
  selected: number | null,
  setClosed: (change: (former: ReadonlySet<string>) => ReadonlySet<string>) => void,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: spans that arrive later reopen nothing
  useEffect(() => {
    if (selected === null) return;
    setClosed((former) => {
      const next = new Set(former);
      for (let at = tree.parent[selected] ?? -1; at >= 0; at = tree.parent[at] ?? -1) {
        next.delete(tree.spans[at]?.id ?? "");
      }
      return next.size === former.size ? former : next;
    });
  }, [selected, setClosed]);
}

type FootProps = {
  tree: TraceTree;
  data: TraceData;
  search: TraceSearch;
  change: (search: TraceSearch) => void;
};

function Foot({ tree, data: { end }, search: { scale }, change }: FootProps) {
  const gaps = useMemo(() => findGaps(tree), [tree]);
  const idle = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  return (
    <>
      {end.is_truncated && (
        <p className="tree-foot wait">
          <Icon name="status-partial" small /> The trace has more than 100,000 spans, or calls more
          traces than an answer holds: some spans may be missing.
        </p>
      )}
      {gaps.length > 0 && (
        <p className="tree-foot">
          <Icon name="info" small />
          <span className="grow">
            {scale
              ? `Idle for ${formatDuration(idle)}, drawn to scale.`
              : `Hatched: ${formatDuration(idle)} in which nothing ran, folded.`}
          </span>
          <button
            type="button"
            className="btn ghost sm"
            onClick={() => change({ scale: scale ? undefined : true })}
          >
            {scale ? "Fold idle time" : "Show to scale"}
          </button>
        </p>
      )}
    </>
  );
}
