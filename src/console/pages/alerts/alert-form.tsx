import { type FormEvent, useState } from "react";
import type { Alert } from "../../../control-plane/alerts/alert-schema.ts";
import { METRIC_TEXTS, type Metric, OPERATOR_TEXTS } from "../../alerts/alert-texts.ts";
import { ALERTS } from "../../alerts/monitor-tabs.tsx";
import { problemsOf } from "../../api/errors.ts";
import { useApiChange } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, SelectField } from "../../ui/form/field.tsx";
import { FormError } from "../../ui/form/form-error.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { useToast } from "../../ui/toasts.tsx";
import { type AlertDraft, type DraftProps, toDraft, toRequest } from "./alert-draft.ts";
import { RunFields } from "./run-fields.tsx";

type Props = {
  /** The alert to edit, absent for a new one. */
  alert?: Alert;
  onSaved: (alert: Alert) => void;
  onClose: () => void;
};

/** Fields that show their problem. */
const FIELDS = ["name", "filter", "feedback_key", "window_minutes", "threshold", "webhook"];

export function AlertForm({ alert, onSaved, onClose }: Props) {
  const toast = useToast();
  const [draft, setDraft] = useState(() => toDraft(alert));
  const save = useApiChange<AlertDraft, Alert>({
    method: alert ? "PATCH" : "POST",
    path: alert ? under(ALERTS)`/${alert.id}` : ALERTS,
    body: toRequest,
    invalidates: [ALERTS],
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(draft, {
      onSuccess: (saved) => {
        toast(`Saved ${saved.name.slice(0, 60)}: it is evaluated within a minute`);
        onSaved(saved);
      },
    });
  };
  const props: DraftProps = {
    draft,
    problems: problemsOf(save.error),
    onChange: (part) => {
      save.reset();
      setDraft({ ...draft, ...part });
    },
  };
  return (
    <Dialog title={alert ? "Edit alert" : "New alert"} onClose={onClose} wide>
      <form onSubmit={submit}>
        <div className="bd grid gap-3 md:grid-cols-2">
          <Watched {...props} />
          <Condition {...props} />
          <Receiver {...props} />
        </div>
        <div className="bd">
          <FormError what="The alert was not saved" error={save.error} fields={FIELDS} />
        </div>
        <FormFooter
          act={alert ? "Save alert" : "Create alert"}
          busy="Saving"
          isBusy={save.isPending}
          onClose={onClose}
        />
      </form>
    </Dialog>
  );
}

function Watched({ draft, problems, onChange }: DraftProps) {
  return (
    <>
      <Field
        label="Name"
        required
        autoFocus
        value={draft.name}
        problem={problems.name}
        onChange={(event) => onChange({ name: event.target.value })}
      >
        Its webhooks contain it.
      </Field>
      <SelectField
        label="Metric"
        value={draft.metric}
        onChange={(event) => onChange({ metric: event.target.value as Metric })}
      >
        {Object.entries(METRIC_TEXTS).map(([metric, { label }]) => (
          <option key={metric} value={metric}>
            {label}
          </option>
        ))}
      </SelectField>
      {draft.metric !== "quota_used" && <RunFields {...{ draft, problems, onChange }} />}
    </>
  );
}

function Condition({ draft, problems, onChange }: DraftProps) {
  const { unit } = METRIC_TEXTS[draft.metric];
  return (
    <>
      <SelectField
        label="Fires when it"
        value={draft.operator}
        onChange={(event) => onChange({ operator: event.target.value as Alert["operator"] })}
      >
        {Object.entries(OPERATOR_TEXTS).map(([operator, { label }]) => (
          <option key={operator} value={operator}>
            {label}
          </option>
        ))}
      </SelectField>
      <Field
        label={`Threshold, ${unit}`}
        type="number"
        step="any"
        required
        value={draft.threshold}
        problem={problems.threshold}
        onChange={(event) => onChange({ threshold: event.target.value })}
      />
    </>
  );
}

function Receiver({ draft, problems, onChange }: DraftProps) {
  return (
    <div className="md:col-span-2">
      <Field
        label="Webhook URL"
        required
        className="mono"
        placeholder="https://example.com/hooks/alerts"
        value={draft.webhook}
        problem={problems.webhook}
        onChange={(event) => onChange({ webhook: event.target.value })}
      >
        Receives the start and the end of each episode, signed with the secret of the workspace.
      </Field>
    </div>
  );
}
