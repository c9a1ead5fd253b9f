import { type FormEvent, useState } from "react";
import type { Feedback } from "../../../../traces/feedback/feedback-schema.ts";
import { useApiChange, useApiQuery } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { useMay } from "../../../api/session.ts";
import { Dialog } from "../../../ui/dialog.tsx";
import { Field, Optional } from "../../../ui/form/field.tsx";
import { FormFooter } from "../../../ui/form/form-footer.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { JsonView } from "../../../ui/json-view/json-view.tsx";
import { Empty } from "../../../ui/panel.tsx";
import { ErrorState, QueryState } from "../../../ui/states.tsx";
import { Time } from "../../../ui/values.tsx";

const PATH = apiPath`/api/v1/feedback`;
const PAGE = 100;
const MAX_KEY = 180;
const MAX_COMMENT = 20_000;

export function SpanFeedback({ run_id }: { run_id: string }) {
  const query = useApiQuery<Feedback[]>(PATH, { query: { run: run_id, limit: PAGE } });
  const mayWrite = useMay("write");
  const [isOpen, setOpen] = useState(false);
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
          {list.length === PAGE && <p className="dim sm">The newest {PAGE} are shown.</p>}
          {mayWrite && (
            <button type="button" className="btn sm" onClick={() => setOpen(true)}>
              <Icon name="plus" small /> Add feedback
            </button>
          )}
          {isOpen && <NewFeedback run_id={run_id} onClose={() => setOpen(false)} />}
        </>
      )}
    </QueryState>
  );
}

function NewFeedback({ run_id, onClose }: { run_id: string; onClose: () => void }) {
  const { mutate, isPending, error } = useApiChange<FormData, Feedback>({
    path: PATH,
    body: (form) => ({
      run_id,
      key: form.get("key"),
      score: form.get("score") === "" ? null : Number(form.get("score")),
      comment: form.get("comment") || null,
      feedback_source: { type: "app" },
    }),
    invalidates: [PATH],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    mutate(new FormData(event.currentTarget), { onSuccess: onClose });
  };
  return (
    <Dialog title="Add feedback" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="bd grid gap-3">
          <Field label="Key" name="key" required maxLength={MAX_KEY} placeholder="helpfulness">
            The name of what you rate.
          </Field>
          <Field label={<Optional>Score</Optional>} name="score" type="number" step="any" />
          <Field label={<Optional>Comment</Optional>} name="comment" maxLength={MAX_COMMENT} />
          {error && <ErrorState what="The feedback was not saved" error={error} />}
        </div>
        <FormFooter act="Add feedback" busy="Saving" isBusy={isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function Item({ feedback }: { feedback: Feedback }) {
  const { key, score, value, comment, created_at, feedback_source } = feedback;
  const source = feedback_source?.type;
  return (
    <div className="col">
      <div className="row">
        <bdi className="b cut">{key}</bdi>
        {score !== null && <span className="tag">{String(score)}</span>}
        <span className="push dim sm row">
          {typeof source === "string" && <span className="cut">{source}</span>}
          <Time at={created_at} />
        </span>
      </div>
      {comment !== null && <p className="break-words">{comment}</p>}
      {value !== null && <JsonView label="Value" value={value} maxHeight={160} />}
    </div>
  );
}
