import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Destination } from "../../../exports/destination-schema.ts";
import type { BulkExport } from "../../../exports/schema.ts";
import type { Project } from "../../../traces/projects/schema.ts";
import { ApiError } from "../../api/errors.ts";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import {
  type BucketDraft,
  EMPTY_BUCKET,
  type ExportDraft,
  emptyDraft,
  NEW_BUCKET,
  toDestination,
  toExportRequest,
} from "../../exports/draft.ts";
import {
  DESTINATIONS,
  EXPORTS,
  useDestinations,
  useProjects,
  useWhyNotExport,
} from "../../exports/names.ts";
import { DraftProbe, SavedProbe } from "../../exports/probe-panel.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader } from "../../ui/panel.tsx";
import { ErrorState, QueryState } from "../../ui/states.tsx";
import { DestinationFields } from "./destination-fields.tsx";
import { Estimate, useEstimate } from "./estimate.tsx";
import { FormatFields } from "./format-fields.tsx";
import { SelectionFields } from "./selection-fields.tsx";

const route = getRouteApi("/w/$workspace/exports/new");
const ABOVE = [{ label: "Exports", path: "/exports" }];

export function NewExportPage() {
  const destinations = useDestinations();
  const projects = useProjects();
  const reason = useWhyNotExport();
  return (
    <>
      <TopBar above={ABOVE} title="New export" />
      <PageHeader title="New export" />
      {reason !== null ? (
        <Empty title="No export can be created here">{reason}</Empty>
      ) : (
        <QueryState query={destinations} what="The destinations could not be read">
          {(list) => (
            <QueryState query={projects} what="The projects could not be read">
              {(found) => <ExportForm destinations={list} projects={found} />}
            </QueryState>
          )}
        </QueryState>
      )}
    </>
  );
}

type FormProps = { destinations: Destination[]; projects: Project[] };

function ExportForm({ destinations, projects }: FormProps) {
  const { project, filter, kind } = route.useSearch();
  const [draft, setDraft] = useState(() => {
    const only = projects.length === 1 ? projects[0]?.id : undefined;
    return emptyDraft({
      project: project ?? only,
      filter,
      when: kind === "schedule" ? kind : "once",
    });
  });
  const [bucket, setBucket] = useState(EMPTY_BUCKET);
  const estimate = useEstimate(draft);
  const chosen = draft.destination || destinations[0]?.id || NEW_BUCKET;
  const change = (part: Partial<ExportDraft>) => setDraft((former) => ({ ...former, ...part }));
  const saved = destinations.find(({ id }) => id === chosen);
  return (
    <div className="form-grid">
      <Submit
        draft={draft}
        bucket={bucket}
        chosen={chosen}
        onSaved={(destination) => change({ destination })}
      >
        <SelectionFields
          projects={projects}
          draft={draft}
          onChange={change}
          filterProblem={filterProblemOf(estimate.error)}
        />
        <DestinationFields
          destinations={destinations}
          chosen={chosen}
          onChoose={(destination) => change({ destination })}
          bucket={bucket}
          onChange={(part) => setBucket((former) => ({ ...former, ...part }))}
        />
        <FormatFields draft={draft} onChange={change} />
      </Submit>
      <aside className="stack">
        <Estimate draft={draft} query={estimate} />
        {saved === undefined ? (
          <DraftProbe draft={bucket} />
        ) : (
          <SavedProbe key={saved.id} id={saved.id} name={saved.display_name} />
        )}
      </aside>
    </div>
  );
}

/** Returns the text of an error about the filter, for its field. */
function filterProblemOf(error: Error | null): string | undefined {
  if (!(error instanceof ApiError) || error.status !== 422) return undefined;
  return /^filter: (.*)/s.exec(error.message)?.[1];
}

type SubmitProps = {
  draft: ExportDraft;
  bucket: BucketDraft;
  chosen: string;
  /** Called with the id of a new destination, so that a second attempt does not create it again. */
  onSaved: (destination_id: string) => void;
  children: ReactNode;
};

function Submit({ draft, bucket, chosen, onSaved, children }: SubmitProps) {
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  const save = useApiChange<object, Destination>({
    path: DESTINATIONS,
    body: (request) => request,
    invalidates: [DESTINATIONS],
  });
  const create = useApiChange<object, BulkExport>({
    path: EXPORTS,
    body: (request) => request,
    invalidates: [EXPORTS],
  });
  const submit = async (): Promise<void> => {
    // Hides the error of an earlier attempt.
    for (const change of [save, create]) change.reset();
    const id = chosen === NEW_BUCKET ? (await save.mutateAsync(toDestination(bucket))).id : chosen;
    if (id !== chosen) onSaved(id);
    const onSuccess = (created: BulkExport) =>
      void navigate({ to: pathTo(workspace, `/exports/${created.id}`) });
    await create.mutateAsync(toExportRequest(draft, id), { onSuccess });
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    // Each failure is shown by its change.
    submit().catch(() => {});
  };
  const error = save.error ?? create.error;
  const isBusy = save.isPending || create.isPending;
  const noun = draft.when === "once" ? "export" : "schedule";
  return (
    <form className="stack" onSubmit={onSubmit} aria-label="New export">
      {children}
      {error && (
        <ErrorState
          what={save.error ? "The bucket was not saved" : `The ${noun} was not created`}
          error={error}
          intact="What you typed is still here."
        />
      )}
      <div className="row wrap">
        <button type="submit" className="btn pri" disabled={isBusy || draft.fields.length === 0}>
          <Icon name="export" /> {isBusy ? "Starting" : `Start ${noun}`}
        </button>
        <Link to={pathTo(workspace, "/exports")} className="btn ghost">
          Back to exports
        </Link>
        {draft.fields.length === 0 && <span className="sm err">Choose at least one column.</span>}
      </div>
    </form>
  );
}
