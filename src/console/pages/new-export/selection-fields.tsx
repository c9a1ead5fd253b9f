import type { Project } from "../../../traces/projects/schema.ts";
import type { ExportDraft } from "../../exports/draft.ts";
import { MAX_PROJECTS } from "../../exports/names.ts";
import { FormSection } from "../../exports/section.tsx";
import { ProjectOptions } from "../../traces/project-options.tsx";
import { Field, Optional, SelectField } from "../../ui/form/field.tsx";

type Props = {
  projects: Project[];
  draft: ExportDraft;
  onChange: (change: Partial<ExportDraft>) => void;
  filterProblem: string | undefined;
};

/** Project, filter and times of the runs to export. */
export function SelectionFields({ projects, draft, onChange, filterProblem }: Props) {
  const { project, filter, when } = draft;
  const isUnlisted = project !== "" && projects.every(({ id }) => id !== project);
  return (
    <FormSection number={1} title="What">
      <SelectField
        label="Project"
        required
        value={project}
        onChange={(event) => onChange({ project: event.target.value })}
        hint={projects.length === MAX_PROJECTS ? `The newest ${MAX_PROJECTS} projects.` : undefined}
      >
        <option value="">Choose a project</option>
        {isUnlisted && <option value={project}>{project}</option>}
        <ProjectOptions projects={projects} />
      </SelectField>
      <Field
        label={<Optional>Filter</Optional>}
        className="mono"
        placeholder="eq(is_root, true)"
        value={filter}
        problem={filterProblem}
        onChange={(event) => onChange({ filter: event.target.value })}
      >
        The filter language of traces. Empty for all runs.
      </Field>
      <div className="full grid gap-2 md:grid-cols-2" role="radiogroup" aria-label="When">
        <When
          label="Once"
          hint="Runs between two times"
          isChosen={when === "once"}
          onChoose={() => onChange({ when: "once" })}
        />
        <When
          label="On a schedule"
          hint="The runs of each period, when it has ended"
          isChosen={when === "schedule"}
          onChoose={() => onChange({ when: "schedule" })}
        />
      </div>
      <Times draft={draft} onChange={onChange} />
    </FormSection>
  );
}

type WhenProps = { label: string; hint: string; isChosen: boolean; onChoose: () => void };

function When({ label, hint, isChosen, onChoose }: WhenProps) {
  return (
    <label className="choice">
      <span className="row">
        <input type="radio" name="when" checked={isChosen} onChange={onChoose} />
        <b className="m">{label}</b>
      </span>
      <span className="hint">{hint}</span>
    </label>
  );
}

function Times({ draft, onChange }: Pick<Props, "draft" | "onChange">) {
  const { when, from, until, hours, late_rows, is_table } = draft;
  return (
    <>
      <Field
        label="From, UTC"
        type="datetime-local"
        required
        value={from}
        onChange={(event) => onChange({ from: event.target.value })}
      >
        Included. Runs that began earlier are left out.
      </Field>
      {when === "once" ? (
        <Field
          label={<Optional>Until, UTC</Optional>}
          type="datetime-local"
          min={from}
          value={until}
          onChange={(event) => onChange({ until: event.target.value })}
        >
          Not included. Empty for all runs until now.
        </Field>
      ) : (
        <>
          <Field
            label="Hours of a period"
            type="number"
            required
            min={1}
            max={168}
            value={hours}
            onChange={(event) => onChange({ hours: event.target.value })}
          >
            1 to 168. Each period is a window, which is exported ten minutes after its end.
          </Field>
          <label className="check full">
            <input
              type="checkbox"
              checked={late_rows}
              onChange={(event) => onChange({ late_rows: event.target.checked })}
            />
            <span>Carry late rows: runs that arrive after their window are in the next one</span>
          </label>
          <label className="check full">
            <input
              type="checkbox"
              checked={is_table}
              onChange={(event) => onChange({ is_table: event.target.checked })}
            />
            <span>Iceberg table: each window is appended to one table as a snapshot</span>
          </label>
        </>
      )}
    </>
  );
}
