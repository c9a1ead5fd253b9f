import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { TraceRun } from "../../../traces/query/run-schema.ts";
import { useApiQuery, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { statusOf } from "../../traces/span-kind.ts";
import { StateDiff } from "../../ui/conversation/state-diff.tsx";
import { cutText } from "../../ui/formats.ts";
import { JsonView } from "../../ui/json-view/json-view.tsx";
import { PageHeader, Panel } from "../../ui/panel.tsx";
import { QueryState } from "../../ui/states.tsx";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/values.tsx";
import { CompareFigures } from "./figures.tsx";
import { SpanPairs } from "./span-pairs.tsx";

const route = getRouteApi("/w/$workspace/traces/compare");
const ABOVE = [{ label: "Traces", path: "/traces" }];

/** Two runs side by side. */
export function ComparePage() {
  const { a, b } = route.useSearch();
  return (
    <>
      <TopBar above={ABOVE} title="Compare" />
      <PageHeader
        title="Compare two runs"
        actions={
          <route.Link to="." search={{ a: b, b: a }} className="btn">
            Swap
          </route.Link>
        }
      />
      <Figures a={a} b={b} />
      <div className="compare-sides">
        <Side key={`a ${a}`} side="a" id={a} />
        <Side key={`b ${b}`} side="b" id={b} />
      </div>
    </>
  );
}

function useRun(id: string | undefined) {
  return useApiQuery<TraceRun>(id === undefined ? null : apiPath`/api/v1/runs/${id}`);
}

function Figures({ a, b }: { a: string | undefined; b: string | undefined }) {
  const first = useRun(a).data;
  const second = useRun(b).data;
  if (!first || !second) return null;
  return (
    <>
      <CompareFigures a={first} b={second} />
      <SpanPairs a={first} b={second} />
      <div className="compare-sides mb-4">
        <Panel title="Input, B against A">
          <div className="in-p">
            <StateDiff before={first.inputs} after={second.inputs} />
          </div>
        </Panel>
        <Panel title="Output, B against A">
          <div className="in-p">
            <StateDiff before={first.outputs} after={second.outputs} />
          </div>
        </Panel>
      </div>
    </>
  );
}

type SideProps = { side: "a" | "b"; id: string | undefined };

function Side({ side, id }: SideProps) {
  const query = useRun(id);
  if (id === undefined) return <Choose side={side} />;
  return (
    <QueryState query={query} what={`Run ${side.toUpperCase()} could not be read`}>
      {(run) => <Run run={run} side={side} />}
    </QueryState>
  );
}

function Choose({ side }: { side: "a" | "b" }) {
  const navigate = route.useNavigate();
  const workspace = useWorkspaceId();
  const [id, setId] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void navigate({ search: (former) => ({ ...former, [side]: id.trim() || undefined }) });
  };
  return (
    <Panel title={`Run ${side.toUpperCase()}`}>
      <form className="in-p col" onSubmit={submit}>
        <label htmlFor={`id-${side}`}>Id of a run</label>
        <div className="row">
          <input
            id={`id-${side}`}
            className="in mono"
            value={id}
            onChange={(event) => setId(event.target.value)}
          />
          <button type="submit" className="btn">
            Compare
          </button>
        </div>
        <p className="hint">
          Or choose Compare in two rows of <Link to={pathTo(workspace, "/traces")}>Traces</Link>.
        </p>
      </form>
    </Panel>
  );
}

function Run({ run, side }: { run: TraceRun; side: "a" | "b" }) {
  const workspace = useWorkspaceId();
  const { kind, word } = statusOf(run.status);
  return (
    <Panel
      title={
        <Link
          to={pathTo(workspace, `/traces/${run.trace_id}`)}
          search={{ span: run.id }}
          title={run.name}
        >
          {side.toUpperCase()}: <bdi>{cutText(run.name, 200)}</bdi>
        </Link>
      }
      end={<Status kind={kind}>{word}</Status>}
      label={`Run ${side.toUpperCase()}`}
    >
      <div className="in-p stack">
        <span className="dim sm">
          <Time at={run.start_time} exact />
        </span>
        {run.error !== null && <JsonView label="Error" value={run.error} maxHeight={200} />}
        <JsonView label="Input" value={run.inputs} />
        <JsonView label="Output" value={run.outputs} />
        <JsonView label="Metadata" value={run.extra?.metadata ?? {}} maxHeight={240} />
      </div>
    </Panel>
  );
}
