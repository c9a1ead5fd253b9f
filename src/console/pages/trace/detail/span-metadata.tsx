import type { TraceRun } from "../../../../traces/query/run-schema.ts";
import { JsonView } from "../../../ui/json-view/json-view.tsx";
import { Cost, Id, Quantity, Time } from "../../../ui/values.tsx";

export function SpanMetadata({ run }: { run: TraceRun }) {
  const { metadata, ...extra } = run.extra ?? {};
  return (
    <div className="stack">
      <dl className="kv">
        <dt>Id</dt>
        <dd>
          <Id id={run.id} />
        </dd>
        <dt>Start</dt>
        <dd>
          <Time at={run.start_time} exact />
        </dd>
        {run.end_time && (
          <>
            <dt>End</dt>
            <dd>
              <Time at={run.end_time} exact />
            </dd>
          </>
        )}
        <Usage run={run} />
        {run.tags && run.tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd className="row wrap">
              {run.tags.map((tag) => (
                <bdi key={tag} className="tag cut" title={tag}>
                  {tag}
                </bdi>
              ))}
            </dd>
          </>
        )}
      </dl>
      <JsonView label="Metadata" value={metadata ?? {}} />
      {Object.keys(extra).length > 0 && <JsonView label="Runtime" value={extra} />}
      {(run.events?.length ?? 0) > 0 && <JsonView label="Events" value={run.events} />}
    </div>
  );
}

function Usage({ run }: { run: TraceRun }) {
  return (
    <>
      {run.total_tokens !== null && (
        <>
          <dt>Tokens</dt>
          <dd>
            <Quantity value={run.total_tokens} /> (<Quantity value={run.prompt_tokens} /> in,{" "}
            <Quantity value={run.completion_tokens} /> out)
          </dd>
        </>
      )}
      {run.total_cost !== null && (
        <>
          <dt>Cost</dt>
          <dd>
            <Cost dollars={Number(run.total_cost)} />
          </dd>
        </>
      )}
    </>
  );
}
