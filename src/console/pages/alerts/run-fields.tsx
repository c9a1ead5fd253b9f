import type { Project } from "../../../traces/projects/schema.ts";
import type { FilterValidation } from "../../../traces/query/filter-schema.ts";
import { useApiQuery } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { readError } from "../../traces/filter-error.ts";
import { ProjectOptions } from "../../traces/project-options.tsx";
import { Field, Optional, SelectField } from "../../ui/form/field.tsx";
import { useDebounced } from "../../ui/form/use-debounced.ts";
import type { DraftProps } from "./alert-draft.ts";

const PROJECTS_SHOWN = 100;
const PAUSE_MS = 400;

/** Fields for the runs that an alert watches. */
export function RunFields({ draft, problems, onChange }: DraftProps) {
  return (
    <>
      <ProjectField {...{ draft, onChange }} />
      <SelectField
        label="Runs"
        value={draft.is_root ? "root" : "all"}
        onChange={(event) => onChange({ is_root: event.target.value === "root" })}
      >
        <option value="root">Root runs</option>
        <option value="all">All runs</option>
      </SelectField>
      <FilterField {...{ draft, problems, onChange }} />
      <Field
        label="Window, minutes"
        type="number"
        step="any"
        required
        value={draft.window}
        problem={problems.window_minutes}
        onChange={(event) => onChange({ window: event.target.value })}
      >
        Runs that started in this time count. At most 1,440.
      </Field>
      {draft.metric === "feedback_score" && (
        <Field
          label="Key of the feedback"
          required
          value={draft.feedback_key}
          problem={problems.feedback_key}
          onChange={(event) => onChange({ feedback_key: event.target.value })}
        >
          The average of its scores is compared.
        </Field>
      )}
    </>
  );
}

/** Chooses a project. The project of an edited alert is shown by its id when the list does not have it. */
function ProjectField({ draft: { session_id }, onChange }: Omit<DraftProps, "problems">) {
  const query = useApiQuery<Project[]>(apiPath`/api/v1/sessions`, {
    query: { limit: PROJECTS_SHOWN },
  });
  const projects = query.data ?? [];
  const isListed = session_id === "" || projects.some(({ id }) => id === session_id);
  return (
    <SelectField
      label="Project"
      required
      value={session_id}
      hint={query.error ? `Not read: ${query.error.message}` : undefined}
      onChange={(event) => onChange({ session_id: event.target.value })}
    >
      <option value="">Choose a project</option>
      {!isListed && <option value={session_id}>{session_id}</option>}
      <ProjectOptions projects={projects} />
    </SelectField>
  );
}

/** The service checks the filter after a pause in typing. */
function FilterField({ draft: { filter }, problems, onChange }: DraftProps) {
  const settled = useDebounced(filter.trim(), PAUSE_MS);
  const { data } = useApiQuery<FilterValidation>(apiPath`/api/v1/runs/query/validate`, {
    post: { filter: settled },
    enabled: settled !== "",
  });
  const [found] = settled === filter.trim() && settled !== "" ? (data?.errors ?? []) : [];
  return (
    <Field
      label={<Optional>Filter</Optional>}
      className="mono"
      placeholder='eq(name, "agent")'
      value={filter}
      problem={found ? readError(found.message, settled).text : problems.filter}
      onChange={(event) => onChange({ filter: event.target.value })}
    >
      In the language of Traces.
    </Field>
  );
}
