import { type FormEvent, useId, useState } from "react";
import type { Cron, FoundCron } from "../../../agent-server/crons/schema.ts";
import { useApiChange } from "../../api/hooks.ts";
import { under } from "../../api/path.ts";
import { agentPath } from "../../runs/stream/agent.ts";
import { parseJson } from "../../ui/conversation/fields.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Optional, SelectField } from "../../ui/form/field.tsx";
import { FormFooter } from "../../ui/form/form-footer.tsx";
import { JsonField, useJsonText } from "../../ui/form/json-field.tsx";
import { cutText } from "../../ui/formats.ts";
import { ErrorState } from "../../ui/states.tsx";
import { endOf, inputPart, inputText, type Plan, planOf, toRequest } from "./cron-draft.ts";
import { FiringsPreview } from "./firings-preview.tsx";
import { ASSISTANTS_SHOWN, useAssistants } from "./starts.tsx";

type Props = {
  deployment: string;
  /** The cron to edit, absent for a new one. */
  cron?: FoundCron;
  onSaved: (cron: Cron) => void;
  onClose: () => void;
};

const MAX_LINES = 10;

export function CronForm({ deployment, cron, onSaved, onClose }: Props) {
  const path = agentPath(deployment)`/runs/crons`;
  const [plan, setPlan] = useState(() => planOf(cron));
  const [initial] = useState(() => inputText(cron));
  const input = useJsonText(initial, parseJson);
  const save = useApiChange<object, Cron>({
    method: cron ? "PATCH" : "POST",
    path: cron ? under(path)`/${cron.cron_id ?? ""}` : path,
    body: (request) => request,
    invalidates: [path],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const chosen = Object.fromEntries(new FormData(event.currentTarget));
    const parsed = input.read();
    if (!parsed) return;
    const { text } = input.field;
    const given = inputPart(cron, { initial, text, value: parsed.value });
    save.mutate({ ...toRequest(plan, cron), ...chosen, ...given }, { onSuccess: onSaved });
  };
  const act = cron ? "Save cron" : "Create cron";
  return (
    <Dialog title={cron ? "Edit cron" : "New cron"} onClose={onClose} wide>
      <form onSubmit={submit}>
        <div className="bd grid gap-3 md:grid-cols-2">
          {!cron && <AssistantChoice deployment={deployment} />}
          <When plan={plan} onChange={(part) => setPlan({ ...plan, ...part })} />
          {!cron?.thread_id && (
            <SelectField
              label="Thread of an ended run"
              name="on_run_completed"
              defaultValue={cron?.on_run_completed ?? "keep"}
            >
              <option value="keep">Keep it</option>
              <option value="delete">Delete it</option>
            </SelectField>
          )}
        </div>
        <div className="bd">
          <JsonField label="Input, as JSON" maxLines={MAX_LINES} {...input.field} />
          <p className="hint mt-1">
            Its runs have your rights, as you are the one who changed it last.
          </p>
          {save.error && <ErrorState what="The cron was not saved" error={save.error} />}
        </div>
        <FormFooter act={act} busy="Saving" isBusy={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

type WhenProps = { plan: Plan; onChange: (part: Partial<Plan>) => void };

function When({ plan: { schedule, timezone, ends }, onChange }: WhenProps) {
  const zones = useId();
  return (
    <>
      <Field
        label="Schedule"
        required
        maxLength={200}
        className="mono"
        value={schedule}
        onChange={(event) => onChange({ schedule: event.target.value })}
      >
        Minute, hour, day, month, weekday.
      </Field>
      <Field
        label="Time zone"
        list={zones}
        maxLength={100}
        value={timezone}
        onChange={(event) => onChange({ timezone: event.target.value })}
      />
      <datalist id={zones}>
        {Intl.supportedValuesOf("timeZone").map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <Field
        label={<Optional>Ends, UTC</Optional>}
        type="datetime-local"
        value={ends}
        onChange={(event) => onChange({ ends: event.target.value })}
      >
        No run starts after it.
      </Field>
      <FiringsPreview plan={{ schedule, timezone, end_time: endOf(ends) }} />
    </>
  );
}

function AssistantChoice({ deployment }: { deployment: string }) {
  const query = useAssistants(deployment);
  return (
    <SelectField
      label="Assistant"
      name="assistant_id"
      required
      hint={query.error ? `Not read: ${query.error.message}` : undefined}
    >
      {query.data?.map(({ assistant_id, name }) => (
        <option key={assistant_id} value={assistant_id}>
          {cutText(name, 100)}
        </option>
      ))}
      {query.data?.length === ASSISTANTS_SHOWN && (
        <option disabled>Only the first {ASSISTANTS_SHOWN} are listed</option>
      )}
    </SelectField>
  );
}
