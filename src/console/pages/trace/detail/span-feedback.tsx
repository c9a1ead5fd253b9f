import type { Feedback } from "../../../../traces/feedback/feedback-schema.ts";
import { useApiQuery } from "../../../api/hooks.ts";
import { JsonView } from "../../../ui/json-view/json-view.tsx";
import { showText } from "../../../ui/json-view/tree.ts";
import { Empty } from "../../../ui/panel.tsx";
import { QueryState } from "../../../ui/states.tsx";
import { Time } from "../../../ui/values.tsx";

const PAGE = 100;

export function SpanFeedback({ run_id }: { run_id: string }) {
  const query = useApiQuery<Feedback[]>("/api/v1/feedback", {
    query: { run: run_id, limit: PAGE },
  });
  return (
    <QueryState query={query} what="The feedback could not be read" rows={2}>
      {(list) => (
        <>
          {list.length === 0 && (
            <Empty title="No feedback">
              Scores and comments of people and evaluators appear here.
            </Empty>
          )}
          <ul className="stack">
            {list.map((feedback) => (
              <li key={feedback.id}>
                <Item feedback={feedback} />
              </li>
            ))}
          </ul>
          {list.length === PAGE && <p className="dim sm">The first {PAGE} are shown.</p>}
        </>
      )}
    </QueryState>
  );
}

function Item({ feedback }: { feedback: Feedback }) {
  const { key, score, value, comment, created_at, feedback_source } = feedback;
  const source = feedback_source?.type;
  return (
    <div className="col">
      <div className="row">
        <bdi className="b cut">{showText(key)}</bdi>
        {score !== null && <span className="tag">{String(score)}</span>}
        <span className="push dim sm row">
          {typeof source === "string" && <span className="cut">{source}</span>}
          <Time at={created_at} />
        </span>
      </div>
      {comment !== null && <p className="break-words">{showText(comment)}</p>}
      {value !== null && <JsonView label="Value" value={value} maxHeight={160} />}
    </div>
  );
}
